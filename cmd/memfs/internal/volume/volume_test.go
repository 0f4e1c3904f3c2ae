package volume_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/volume"
	"memfs/store"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]volume.Spec{
		"notes":                        {Store: "notes"},
		"memstore_01":                  {Store: "memstore_01"},
		"User Preferences":             {Store: "User Preferences"},
		"notes:ro":                     {Store: "notes", ReadOnly: true},
		"notes:/mnt/a":                 {Store: "notes", Path: "/mnt/a"},
		"notes:/mnt/a:ro":              {Store: "notes", Path: "/mnt/a", ReadOnly: true},
		"notes:/mnt//a/../b/":          {Store: "notes", Path: "/mnt/b"},
		"notes:/mnt/my notes":          {Store: "notes", Path: "/mnt/my notes"},
		"team: notes":                  {Store: "team: notes"},
		"team:notes:/mnt/a":            {Store: "team:notes", Path: "/mnt/a"},
		"a:/b:/mnt/c:ro":               {Store: "a:/b", Path: "/mnt/c", ReadOnly: true},
		"ro":                           {Store: "ro"},
		"ro:ro":                        {Store: "ro", ReadOnly: true},
		"notes:ro:ro":                  {Store: "notes:ro", ReadOnly: true},
		"notes:rw":                     {Store: "notes"},
		"notes:/mnt/a:rw":              {Store: "notes", Path: "/mnt/a"},
		"notes:rw:rw":                  {Store: "notes:rw"},
		"team:reader":                  {Store: "team:reader"},
		"https://example.org:/mnt/a":   {Store: "https://example.org", Path: "/mnt/a"},
		"notes:/mnt/with:colon:rw":     {Store: "notes", Path: "/mnt/with:colon"},
		"notes:/mnt/ends-in-colon::rw": {Store: "notes", Path: "/mnt/ends-in-colon:"},
		"Notizen für Ärzte:/mnt/é:ro":  {Store: "Notizen für Ärzte", Path: "/mnt/é", ReadOnly: true},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := volume.Parse(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":               "no store named",
		":ro":            "no store named",
		":/mnt/a":        "no store named",
		"/mnt/a":         "the store comes before the path",
		"/mnt/a:/mnt/b":  "the store comes before the path",
		"notes:/":        "over the root directory",
		"notes:/mnt/..":  "over the root directory",
		"notes:/a\x00b":  "NUL",
		"notes:/x:RO":    "the mode after a path is :ro or :rw",
		"notes:/x:r":     "the mode after a path is :ro or :rw",
		"notes:/x:":      "the mode after a path is :ro or :rw",
		"notes:RO":       "the mode after a path is :ro or :rw",
		"notes:/a:b":     "a path with a colon in its last name",
		"notes:rel/path": "PATH must be absolute",
		"notes:./v":      "PATH must be absolute",
		"notes:~/v:ro":   "PATH must be absolute",
		"notes:..":       "PATH must be absolute",
		"notes:":         "PATH must be absolute",
		"notes\x00:/mnt": "NUL",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := volume.Parse(text)
			require.ErrorContains(t, err, says)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"notes", "a:/b:/c:ro", "team:notes:/mnt/a", ":ro", "x:/", "a:/../..", "\xff:/\xff", "a:/b:c/..", "a:/x:RO", "a:rw:rw", "::rw"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := volume.Parse(text)
		if err != nil {
			assert.Equal(t, volume.Spec{}, s)
			return
		}
		assert.NotEmpty(t, s.Store)
		assert.True(t, strings.HasPrefix(text, s.Store))
		if s.Path != "" {
			assert.True(t, filepath.IsAbs(s.Path))
			assert.Equal(t, filepath.Clean(s.Path), s.Path)
			assert.NotEqual(t, "/", s.Path)
		}
		again, err := volume.Parse(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"User Preferences":  "user-preferences",
		"user-preferences":  "user-preferences",
		"a  --  b":          "a-b",
		"  padded!  ":       "padded",
		"Notes/2026: plans": "notes-2026-plans",
		"../../etc/passwd":  "etc-passwd",
		"Ärzte":             "rzte",
		"日本語":               "",
		"":                  "",
		"...":               "",
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, volume.Slug(name)) })
	}
}

func TestPlace(t *testing.T) {
	infos := []store.Info{{ID: "memstore_1", Name: "User Preferences"}, {ID: "memstore_2", Name: "日本語"}, {ID: "memstore_3"}}
	got, err := volume.Place("/mnt/memory", []volume.Spec{{}, {}, {Path: "/srv/c"}}, infos)
	require.NoError(t, err)
	assert.Equal(t, []string{"/mnt/memory/user-preferences", "/mnt/memory/memstore_2", "/srv/c"}, got)
}

func TestPlaceRefusesPathsThatMeet(t *testing.T) {
	infos := []store.Info{{ID: "memstore_1", Name: "Notes"}, {ID: "memstore_2", Name: "notes!"}}
	for name, c := range map[string]struct {
		specs []volume.Spec
		says  string
	}{
		"equal defaults": {[]volume.Spec{{}, {}}, "give one of them another path, as memstore_2:/m/notes-2"},
		"equal":          {[]volume.Spec{{Path: "/a"}, {Path: "/a"}}, "both be mounted at /a"},
		"nested":         {[]volume.Spec{{Path: "/a/b"}, {Path: "/a"}}, "inside each other"},
		"nesting":        {[]volume.Spec{{Path: "/m"}, {}}, "inside each other"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := volume.Place("/m", c.specs, infos)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := volume.Place("/m", []volume.Spec{{Path: "/a"}, {Path: "/ab"}}, infos)
	assert.NoError(t, err)
}
