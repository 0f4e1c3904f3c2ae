package main_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"memfs/cmd/memfs/internal/exitcode"
)

// TestOwnerAndUmask: what a store brings belongs to who is named, without what
// the mask takes away.
func TestOwnerAndUmask(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	h := mounting(t)
	store := h.store("notes")
	client := h.api().Store(store)
	_, err := client.Create(t.Context(), "/d/a", []byte("text"))
	assert.NoError(t, err)
	at := h.path("mnt")
	said := h.must("exec", store+":"+at, "--uid", "65534", "--gid", "65533", "--umask", "027", "--allow-other", "--",
		"stat", "-c", "%u %g %a", at, at+"/d", at+"/d/a")
	assert.Equal(t, "65534 65533 750\n65534 65533 750\n65534 65533 640\n", said)
	h.fails(exitcode.Usage, "an octal number up to 377", "mount", "notes", "--umask", "777")
}
