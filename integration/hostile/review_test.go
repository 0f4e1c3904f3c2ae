package hostile

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every test that the security review names exists.
func TestTheReviewNamesTests(t *testing.T) {
	root := filepath.Join("..", "..")
	review, err := os.ReadFile(filepath.Join(root, "docs", "SECURITY.md"))
	require.NoError(t, err)
	named := regexp.MustCompile(`\b(?:TestR?\d*_?|Fuzz)[A-Za-z0-9_]+`).FindAllString(string(review), -1)
	require.Greater(t, len(named), 50)
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			declared[found[1]] = true
		}
		return err
	}))
	for _, name := range named {
		assert.True(t, declared[name], "docs/SECURITY.md names %s, which is no test", name)
	}
}
