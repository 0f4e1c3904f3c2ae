package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestCheckPath(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"plain", "/a", nil},
		{"nested", "/notes/2026/todo.md", nil},
		{"spaces inside and around", "/ a b ", nil},
		{"leading dots", "/.hidden/..name/...", nil},
		{"trailing dot", "/name.", nil},
		{"backslash and quotes", "/a\\b'\"c", nil},
		{"what shells and SQL expand", "/*?[a]_%$~", nil},
		{"reserved elsewhere", "/CON/aux:/-rf", nil},
		{"composed accent", "/\u00e9", nil},
		{"emoji beyond the basic plane", "/\U0001f680", nil},
		{"variation selector", "/\u2764\ufe0f", nil},
		{"private use and unassigned", "/\ue000\u0378", nil},
		{"replacement character", "/\ufffd", nil},
		{"no-break space", "/\u00a0", nil},
		{"marker in a subdirectory", "/d/" + store.MarkerName, nil},
		{"twenty names", strings.Repeat("/s", 20), nil},
		{"longest name", "/" + strings.Repeat("n", 1_023), nil},
		{"longest path in wide characters", "/x" + strings.Repeat("é", 511), nil},

		{"empty", "", store.ErrPathIllegal},
		{"root", "/", store.ErrPathIllegal},
		{"relative", "a/b", store.ErrPathIllegal},
		{"double slash", "//", store.ErrPathIllegal},
		{"empty name", "/a//b", store.ErrPathIllegal},
		{"trailing slash", "/a/", store.ErrPathIllegal},
		{"dot", "/a/.", store.ErrPathIllegal},
		{"dot-dot", "/../a", store.ErrPathIllegal},
		{"nul", "/a\x00", store.ErrPathIllegal},
		{"newline", "/a\nb", store.ErrPathIllegal},
		{"delete", "/a\x7f", store.ErrPathIllegal},
		{"C1 control", "/a\u0085", store.ErrPathIllegal},
		{"zero-width joiner", "/a\u200db", store.ErrPathIllegal},
		{"byte-order mark", "/\ufeffa", store.ErrPathIllegal},
		{"soft hyphen", "/a\u00adb", store.ErrPathIllegal},
		{"right-to-left override", "/a\u202eb", store.ErrPathIllegal},
		{"tag character", "/a\U000e0041", store.ErrPathIllegal},
		{"line separator", "/a\u2028", store.ErrPathIllegal},
		{"paragraph separator", "/a\u2029", store.ErrPathIllegal},
		{"decomposed accent", "/e\u0301", store.ErrPathIllegal},
		{"Kelvin sign", "/\u212a", store.ErrPathIllegal},
		{"not UTF-8", "/a\xff", store.ErrPathIllegal},
		{"surrogate in UTF-8", "/\xed\xa0\x80", store.ErrPathIllegal},
		{"overlong slash", "/a\xc0\xafb", store.ErrPathIllegal},
		{"twenty-one names", strings.Repeat("/s", 21), store.ErrPathTooLong},
		{"a byte too long", "/" + strings.Repeat("n", 1_024), store.ErrPathTooLong},
		{"a byte too long in wide characters", "/" + strings.Repeat("é", 512), store.ErrPathTooLong},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, store.CheckPath(c.path), c.want) })
	}
}

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"plain", "a", nil},
		{"longest", strings.Repeat("n", 255), nil},
		{"longest in wide characters", strings.Repeat("é", 127) + "x", nil},
		{"marker", store.MarkerName, nil},
		{"a byte too long", strings.Repeat("n", 256), store.ErrPathTooLong},
		{"a byte too long in wide characters", strings.Repeat("é", 128), store.ErrPathTooLong},
		{"empty", "", store.ErrPathIllegal},
		{"dot", ".", store.ErrPathIllegal},
		{"dot-dot", "..", store.ErrPathIllegal},
		{"slash", "a/b", store.ErrPathIllegal},
		{"decomposed", "e\u0301", store.ErrPathIllegal},
		{"not UTF-8", "\xff", store.ErrPathIllegal},
		{"control", "a\tb", store.ErrPathIllegal},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, store.CheckName(c.text), c.want) })
	}
}

func TestR12_NormalName(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "e\u0301": "\u00e9", "\u00e9": "\u00e9", "\u212b": "\u00c5", "\uac00": "\uac00", "\u1100\u1161": "\uac00",
		"a\u0323\u0307": "\u1ea1\u0307", "\xff": "\xff", "e\u0301\xff": "e\u0301\xff", "": "", "\ufb01": "\ufb01",
	} {
		require.Equal(t, want, store.NormalName(in), "%+q", in)
	}
}

func TestR12_NormalNameIsLegalAfterManyMarks(t *testing.T) {
	name := "x" + strings.Repeat("\u0335", 31)
	require.ErrorIs(t, store.CheckName(name), store.ErrPathIllegal)
	require.NoError(t, store.CheckName(store.NormalName(name)))
}

func TestCheckContent(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          error
	}{
		{"empty", "", nil},
		{"nul and controls", "\x00\x1b\x7f", nil},
		{"byte-order mark", "\ufefftext", nil},
		{"decomposed", "e\u0301", nil},
		{"largest", strings.Repeat("x", store.MaxContent), nil},
		{"largest in wide characters", strings.Repeat("é", store.MaxContent/2), nil},
		{"a byte too large", strings.Repeat("x", store.MaxContent+1), store.ErrTooLarge},
		{"too large, and not text", strings.Repeat("\xff", store.MaxContent+1), store.ErrTooLarge},
		{"not UTF-8", "a\xff", store.ErrNotText},
		{"cut character", "\xe2\x82", store.ErrNotText},
		{"surrogate in UTF-8", "\xed\xa0\x80", store.ErrNotText},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, store.CheckContent([]byte(c.content)), c.want) })
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/a", "/a/b", true},
		{"/a", "/a/b/c", true},
		{"/a/b", "/a/b/c", true},
		{"/a", "/a", false},
		{"/a", "/ab", false},
		{"/a", "/a-b/c", false},
		{"/a/b", "/a/c", false},
		{"/a", "/b/a", false},
		{"/a", "/A/b", false},
	} {
		require.Equal(t, c.want, store.Overlap(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, store.Overlap(c.b, c.a), "%s %s", c.b, c.a)
	}
}

func TestR13_Marker(t *testing.T) {
	require.Equal(t, "version 1\nmemstore_x", string(store.Marker("memstore_x")))
	require.NoError(t, store.CheckName(store.MarkerName))
}
