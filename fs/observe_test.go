//go:build linux

package fs

import (
	"os"
	"regexp"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"memfs/store/replica"
)

func TestObserverHearsOfEachAnswer(t *testing.T) {
	f := newFilesystem(&fakeTree{linked: map[replica.Ino]bool{5: true}}, "memstore_1", zap.NewNop())
	assert.Same(t, f, observe(f, nil), "nothing stands in between where nobody listens")

	var heard []Operation
	watched := observe(f, func(o Operation) { heard = append(heard, o) })
	var out fuse.AttrOut
	require.Equal(t, fuse.OK, watched.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: 5}}, &out))
	require.Equal(t, fuse.Status(syscall.ESTALE), watched.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: 6}}, &out))
	require.Equal(t, fuse.EPERM, watched.Symlink(nil, &fuse.InHeader{NodeId: 5}, "target", "name", nil))
	require.Len(t, heard, 3)
	assert.Equal(t, "getattr", heard[0].Name)
	assert.Zero(t, heard[0].Errno)
	assert.Positive(t, heard[0].Took)
	assert.Equal(t, syscall.ESTALE, heard[1].Errno)
	assert.Equal(t, "symlink", heard[2].Name)
	assert.Equal(t, "/dir/name", heard[2].Path())
}

// TestEveryOperationIsObserved reads the sources, so that none is forgotten.
func TestEveryOperationIsObserved(t *testing.T) {
	method := regexp.MustCompile(`(?m)^func \(\w+ \*(filesystem|observed)\) ([A-Z]\w*)\((?:\w+ )?<-chan`)
	has := map[string]map[string]bool{"filesystem": {}, "observed": {}}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(e.Name())
		require.NoError(t, err)
		for _, m := range method.FindAllStringSubmatch(string(text), -1) {
			has[m[1]][m[2]] = true
		}
	}
	for _, asked := range []string{"Open", "OpenDir", "Flush"} { // answered once, with ENOSYS
		require.True(t, has["filesystem"][asked])
		delete(has["filesystem"], asked)
	}
	require.Contains(t, has["filesystem"], "Rename")
	assert.Equal(t, has["filesystem"], has["observed"])
}
