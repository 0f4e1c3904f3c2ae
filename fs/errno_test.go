//go:build linux

package fs

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/replica"
)

// TestErrnoTableIsComplete reads the sources, so that an error added to the
// domain or the replica cannot be forgotten here.
func TestErrnoTableIsComplete(t *testing.T) {
	rows := tableRows(t)
	for name, dir := range map[string]string{"store": "../store", "replica": "../store/replica"} {
		declared := exportedErrors(t, dir)
		require.NotEmpty(t, declared, dir)
		for _, variable := range declared {
			assert.Contains(t, rows, name+"."+variable, "no row in errnos")
		}
	}
}

// tableRows are the first elements of the rows of errnos, as written.
func tableRows(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "errno.go", nil, 0)
	require.NoError(t, err)
	var rows []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "errnos" {
			return true
		}
		for _, row := range spec.Values[0].(*ast.CompositeLit).Elts {
			selector := row.(*ast.CompositeLit).Elts[0].(*ast.SelectorExpr)
			rows = append(rows, selector.X.(*ast.Ident).Name+"."+selector.Sel.Name)
		}
		return false
	})
	return rows
}

// exportedErrors are the exported variables of a package named Err….
func exportedErrors(t *testing.T, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var names []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

func TestErrnoOfWrappedErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{replica.ErrNotExist, syscall.ENOENT},
		{fmt.Errorf("write: %w", replica.ErrFileTooLarge), syscall.EFBIG},
		{fmt.Errorf("%w: %w", replica.ErrNoSpace, syscall.ENOSPC), syscall.ENOSPC},
		// R14: content that cannot be had is EIO, whatever the store answered.
		{fmt.Errorf("%w: %w", replica.ErrNotFetched, store.ErrUnauthorized), syscall.EIO},
		{fmt.Errorf("%w: %w", replica.ErrNotFetched, store.ErrNotFound), syscall.EIO},
		{fmt.Errorf("%w: %w", replica.ErrNotFetched, context.DeadlineExceeded), syscall.EIO},
		{fmt.Errorf("%w: %w", replica.ErrNotFetched, context.Canceled), syscall.EINTR},
		{&store.UnavailableError{Status: 503}, syscall.EIO},
		{store.ErrNotText, syscall.EILSEQ},
	} {
		got, known := errno(c.err)
		assert.Equal(t, c.want, got, "%v", c.err)
		assert.True(t, known, "%v", c.err)
	}
}

func TestUnknownErrorIsEIOAndSaid(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	f := newFilesystem(&fakeTree{}, "memstore_1", zap.New(core))

	assert.Equal(t, fuse.EIO, f.status(errors.New("no idea"), "write", 7, "name"))

	require.Equal(t, 1, logs.Len())
	said := logs.All()[0]
	assert.Equal(t, zap.ErrorLevel, said.Level)
	assert.Equal(t, map[string]any{"code": "unknown_error", "op": "write", "path": "/dir/name", "error": "no idea"}, said.ContextMap())
	assert.Equal(t, fuse.ENOENT, f.status(replica.ErrNotExist, "lookup", 7, ""))
	assert.Equal(t, 1, logs.Len(), "known errors are the caller's business")
}
