package journal

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small returns a small journal's bytes, with some zeros at its end, the
// payloads in it and where its frames begin.
func small(t testing.TB) (content []byte, texts []string, start int) {
	j, dir := create(t, nil, Options{})
	start = int(j.Size())
	texts = numbered(12)
	appendAll(t, j, texts...)
	require.NoError(t, j.Close())
	whole, err := os.ReadFile(filepath.Join(dir.Path(), name))
	require.NoError(t, err)
	return whole[:j.Size()+40], texts, start
}

// readBytes reads a journal from bytes.
func readBytes(content []byte) ([]string, Replay, error) {
	var texts []string
	r, err := scan(bytes.NewReader(content), int64(len(content)), "", func(payload []byte) error {
		texts = append(texts, string(payload))
		return nil
	})
	return texts, r, err
}

func isPrefix(prefix, of []string) bool {
	return len(prefix) <= len(of) && slices.Equal(prefix, of[:len(prefix)])
}

func TestR16_AJournalCutAnywhereYieldsAPrefix(t *testing.T) {
	content, texts, start := small(t)
	longest := 0
	for size := range content {
		got, r, err := readBytes(content[:size])
		if size < start {
			require.ErrorIs(t, err, ErrHeader, size)
			continue
		}
		require.NoError(t, err, size)
		require.True(t, isPrefix(got, texts), size)
		require.GreaterOrEqual(t, len(got), longest, "a longer file has fewer records")
		require.LessOrEqual(t, r.Good, int64(size))
		inFrame := r.Good < int64(size) && size < len(content)-40
		require.Equal(t, inFrame, r.Damaged, "%d %+v", size, r)
		longest = len(got)
	}
	require.Equal(t, len(texts), longest)
}

func TestR16_AJournalWithAnyBitFlippedYieldsAPrefix(t *testing.T) {
	content, texts, start := small(t)
	for i := range content {
		for bit := range 8 {
			flipped := bytes.Clone(content)
			flipped[i] ^= 1 << bit
			got, r, err := readBytes(flipped)
			if i < start {
				require.Error(t, err, "byte %d bit %d", i, bit)
				require.Empty(t, got)
				continue
			}
			require.NoError(t, err)
			require.True(t, isPrefix(got, texts), "byte %d bit %d", i, bit)
			require.True(t, r.Damaged, "byte %d bit %d", i, bit)
			if i >= len(content)-40 {
				require.Equal(t, texts, got, "damage behind the frames")
			} else {
				require.Less(t, len(got), len(texts))
				require.LessOrEqual(t, r.Good, int64(i))
			}
		}
	}
}

func TestAFrameVerifiesOnlyInItsPlace(t *testing.T) {
	j, dir := create(t, nil, Options{})
	start := j.Size()
	appendAll(t, j, "same size 1", "same size 2", "same size 3")
	require.NoError(t, j.Close())
	path := filepath.Join(dir.Path(), name)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	frame := func(i int) []byte { at := int(start) + i*19; return content[at : at+19] }

	swapped := bytes.Clone(content)
	copy(swapped[start:], frame(1))
	copy(swapped[start+19:], frame(0))
	got, r, err := readBytes(swapped)
	require.NoError(t, err)
	assert.True(t, r.Damaged)
	assert.Empty(t, got)

	repeated := bytes.Clone(content)
	copy(repeated[start+3*19:], frame(2))
	got, r, err = readBytes(repeated)
	require.NoError(t, err)
	assert.True(t, r.Damaged)
	assert.Equal(t, []string{"same size 1", "same size 2", "same size 3"}, got)

	// A frame of another journal, in the very same place.
	other, err := Create(dir, name, header, payloads("same size 1"), Options{})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	stale, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(stale[start+19:], frame(1))
	got, r, err = readBytes(stale)
	require.NoError(t, err)
	assert.True(t, r.Damaged)
	assert.Equal(t, []string{"same size 1"}, got)
}

func TestAHostileLengthAllocatesNothing(t *testing.T) {
	content, _, start := small(t)
	for _, length := range []uint32{MaxPayload, MaxPayload + 1, 1 << 31, 1<<32 - 1} {
		hostile := bytes.Clone(content)
		binary.LittleEndian.PutUint32(hostile[start:], length)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, r, err := readBytes(hostile)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.True(t, r.Damaged)
		assert.Empty(t, got)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))

		header := bytes.Clone(content)
		binary.LittleEndian.PutUint32(header[headerFixed-4:], length)
		_, _, err = readBytes(header)
		assert.ErrorIs(t, err, ErrHeader)
	}
}

func FuzzRead(f *testing.F) {
	content, _, start := small(f)
	f.Add(content)
	f.Add(content[:start])
	f.Add(content[:len(content)-60])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, content []byte) {
		texts, r, err := readBytes(content)
		if err != nil {
			return
		}
		require.LessOrEqual(t, r.Good, r.Size)
		require.Equal(t, int64(len(content)), r.Size)
		// Only what is really there counts, with a good checksum each: the
		// same file must come out when it is written again.
		_, s, at, err := decodeHeader(bytes.NewReader(content), "")
		require.NoError(t, err)
		again := bytes.Clone(content[:at])
		for _, text := range texts {
			again = appendFrame(again, s, int64(len(again)), []byte(text))
		}
		require.Equal(t, content[:r.Good], again)
		rest := content[r.Good:]
		require.Equal(t, bytes.Count(rest, []byte{0}) != len(rest), r.Damaged)
	})
}

// FuzzFrames mends header and checksums, so that the fuzzer gets behind them.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("some payload"), []byte("another"), uint16(3), byte(1))
	f.Add([]byte{0}, []byte{0, 0, 0, 0, 0, 0, 0, 0}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, a, b []byte, at uint16, flip byte) {
		if len(a) == 0 || len(b) == 0 || len(a)+len(b) > MaxPayload {
			return
		}
		s := salt{1, 2, 3}
		content, err := encodeHeader(header, s)
		require.NoError(t, err)
		start := len(content)
		content = appendFrame(content, s, int64(start), a)
		content = appendFrame(content, s, int64(len(content)), b)
		i := start + int(at)%(len(content)-start)
		content[i] ^= flip
		got, _, err := readBytes(content)
		require.NoError(t, err)
		want := []string{string(a), string(b)}
		if flip == 0 {
			require.Equal(t, want, got)
		} else {
			require.True(t, isPrefix(got, want[:1]), "a damaged frame was read")
		}
	})
}
