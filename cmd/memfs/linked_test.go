package main_test

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A template calls methods by names that the linker cannot know, so with one in
// the program it keeps every exported method of every type: the program was
// half as large again, and each mount had 7 MB more resident.
func TestTheProgramHasNoTemplates(t *testing.T) {
	t.Parallel()
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	require.NoError(t, err)
	require.Contains(t, string(symbols), " main.main\n")
	assert.False(t, bytes.Contains(symbols, []byte("text/template.(*Template).Execute")),
		"text/template is linked in; cobra does it for each Set...Template")
}
