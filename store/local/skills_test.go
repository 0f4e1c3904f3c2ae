package local

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSkills(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	k := Skill{Name: "how-to", Files: map[string]string{"SKILL.md": "How to.\n", "bin/run": "#!/bin/sh\n"}}
	x, err := s.StartSession(t.Context(), SessionSpec{Script: Script{Skills: []Skill{k}, End: EndOpen}})
	require.NoError(t, err)
	ref := try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID(), "").ok(t)["agent"].(object)["skills"].([]any)[0].(object)
	require.Equal(t, "custom", ref["type"])
	path := "/v1/skills/" + ref["skill_id"].(string) + "/versions/"
	_, token := claimed(t, s)
	for _, key := range []string{anAPIKey, s.EnvironmentKey(), token} {
		version := try(t, s, key, "GET", path+ref["version"].(string), "").ok(t)
		require.Equal(t, "skill_version", version["type"])
		require.Equal(t, "how-to", version["name"])
		require.Equal(t, ref["skill_id"], version["skill_id"])
		content := zipOf(t, s, path+version["id"].(string)+"/content")
		require.Equal(t, map[string]string{"how-to/SKILL.md": "How to.\n", "how-to/bin/run": "#!/bin/sh\n"}, content)
	}
	try(t, s, anAPIKey, "GET", path+"latest/content", "").require(t, 404, "not_found_error")
	try(t, s, anAPIKey, "GET", path+"other", "").require(t, 404, "not_found_error")
	startSession(t, s)
	_, other := claimed(t, s)
	try(t, s, other, "GET", path+"latest", "").require(t, 403, "permission_error")

	for name, bad := range map[string]Script{
		"name":    {Skills: []Skill{{Name: "How To", Files: k.Files}}},
		"no file": {Skills: []Skill{{Name: "x"}}},
		"upwards": {Skills: []Skill{{Name: "x", Files: map[string]string{"SKILL.md": "", "../x": ""}}}},
		"twice":   {Skills: []Skill{k, k}},
	} {
		_, err := s.StartSession(t.Context(), SessionSpec{Script: bad})
		require.Error(t, err, name)
	}
}

// zipOf downloads an archive and reads it.
func zipOf(t *testing.T, s *Server, path string) map[string]string {
	t.Helper()
	answer := raw(t, s, path)
	z, err := zip.NewReader(bytes.NewReader(answer), int64(len(answer)))
	require.NoError(t, err)
	files := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		files[f.Name] = string(text)
	}
	return files
}

func raw(t *testing.T, s *Server, path string) []byte {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+s.EnvironmentKey())
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	require.Equal(t, "application/zip", w.Header().Get("Content-Type"))
	return w.Body.Bytes()
}
