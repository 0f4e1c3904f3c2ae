//go:build linux

package posix

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository is where docs and the other packages are.
const repository = "../.."

// TestEveryRowHasATest: each row of docs/SEMANTICS.md names tests that there
// are, and each test of TestSemantics stands in a row.
func TestEveryRowHasATest(t *testing.T) {
	page, err := os.Open(filepath.Join(repository, "docs", "SEMANTICS.md"))
	require.NoError(t, err)
	defer page.Close()
	own, others := regexp.MustCompile(`\bS-[\w-]+`), regexp.MustCompile("`(\\w+)\\.(Test\\w+)`")
	tests, named, suites := semantics(), map[string]bool{}, false
	lines := bufio.NewScanner(page)
	for line := 1; lines.Scan(); line++ {
		row := lines.Text()
		ids, elsewhere := own.FindAllString(row, -1), others.FindAllStringSubmatch(row, -1)
		for _, id := range ids {
			assert.Contains(t, tests, id, "line %d", line)
			named[id] = true
		}
		for _, test := range elsewhere {
			assert.True(t, testExists(t, test[1], test[2]), "line %d: there is no %s in package %s", line, test[2], test[1])
		}
		suites = suites || row == "## Suites" // no rows of what calls do
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if !suites && strings.HasPrefix(row, "|") && strings.TrimSpace(cells[len(cells)-1]) != "test" && !strings.HasPrefix(row, "|---") {
			assert.Positive(t, len(ids)+len(elsewhere), "line %d has no test: %s", line, row)
		}
	}
	require.NoError(t, lines.Err())
	for id := range tests {
		assert.True(t, named[id], "%s stands in no row", id)
	}
}

// testExists looks for a test function in the folder that is named as the
// package.
func testExists(t *testing.T, pkg, test string) bool {
	found := false
	require.NoError(t, filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) != pkg {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == test {
				found = true
			}
		}
		return nil
	}))
	return found
}
