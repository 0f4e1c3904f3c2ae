package replica

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

// everyRecord has one record of each kind with every field of it set.
func everyRecord() []record {
	var all []record
	for k := recNode; k.known(); k++ {
		all = append(all, record{
			kind: k, ino: 3, parent: 2, newParent: 4, name: "née", newName: "b", flags: flagDir, mode: 0o644, uid: 1, gid: 2,
			atime: 5, mtime: 6, ctime: 7, btime: 8, time: 9, since: 10, off: 11, size: 12, data: []byte("text"),
			id: "mem_1", version: "memver_1", path: "/a/b", sha: store.Hash([]byte("x")), seq: 13, op: uint64(OpUpdate),
		})
	}
	return all
}

func TestCodec_ReadsWhatItWrote(t *testing.T) {
	payload := encode(everyRecord()...)
	got, err := decode(payload)
	require.NoError(t, err)
	require.Len(t, got, len(everyRecord()))
	assert.Equal(t, payload, encode(got...))
}

func TestCodec_RefusesWhatIsCutOrUnknown(t *testing.T) {
	for _, r := range everyRecord() {
		payload := encode(r)
		for n := 1; n < len(payload); n++ {
			_, err := decode(payload[:n])
			require.ErrorIs(t, err, errGarbled, "kind %d cut at %d", r.kind, n)
		}
	}
	_, err := decode([]byte{99})
	require.ErrorIs(t, err, errGarbled)
}

func FuzzDecode(f *testing.F) {
	for _, r := range everyRecord() {
		f.Add(encode(r))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		records, err := decode(payload)
		if err != nil {
			return
		}
		again, err := decode(encode(records...))
		require.NoError(t, err)
		require.Equal(t, records, again)
		tree := newTree(DefaultScratch())
		for i := range records {
			_ = tree.apply(&records[i]) // whatever it says, it must not panic
		}
	})
}
