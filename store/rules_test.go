package store

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		{"marker in a subdirectory", "/d/" + MarkerName, nil},
		{"twenty names", strings.Repeat("/s", 20), nil},
		{"longest name", "/" + strings.Repeat("n", 1_023), nil},
		{"longest path in wide characters", "/x" + strings.Repeat("é", 511), nil},

		{"empty", "", ErrPathIllegal},
		{"root", "/", ErrPathIllegal},
		{"relative", "a/b", ErrPathIllegal},
		{"double slash", "//", ErrPathIllegal},
		{"empty name", "/a//b", ErrPathIllegal},
		{"trailing slash", "/a/", ErrPathIllegal},
		{"dot", "/a/.", ErrPathIllegal},
		{"dot-dot", "/../a", ErrPathIllegal},
		{"nul", "/a\x00", ErrPathIllegal},
		{"newline", "/a\nb", ErrPathIllegal},
		{"delete", "/a\x7f", ErrPathIllegal},
		{"C1 control", "/a\u0085", ErrPathIllegal},
		{"zero-width joiner", "/a\u200db", ErrPathIllegal},
		{"byte-order mark", "/\ufeffa", ErrPathIllegal},
		{"soft hyphen", "/a\u00adb", ErrPathIllegal},
		{"right-to-left override", "/a\u202eb", ErrPathIllegal},
		{"tag character", "/a\U000e0041", ErrPathIllegal},
		{"line separator", "/a\u2028", ErrPathIllegal},
		{"paragraph separator", "/a\u2029", ErrPathIllegal},
		{"decomposed accent", "/e\u0301", ErrPathIllegal},
		{"Kelvin sign", "/\u212a", ErrPathIllegal},
		{"not UTF-8", "/a\xff", ErrPathIllegal},
		{"surrogate in UTF-8", "/\xed\xa0\x80", ErrPathIllegal},
		{"overlong slash", "/a\xc0\xafb", ErrPathIllegal},
		{"twenty-one names", strings.Repeat("/s", 21), ErrPathTooLong},
		{"a byte too long", "/" + strings.Repeat("n", 1_024), ErrPathTooLong},
		{"a byte too long in wide characters", "/" + strings.Repeat("é", 512), ErrPathTooLong},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, CheckPath(c.path), c.want) })
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
		{"marker", MarkerName, nil},
		{"a byte too long", strings.Repeat("n", 256), ErrPathTooLong},
		{"a byte too long in wide characters", strings.Repeat("é", 128), ErrPathTooLong},
		{"empty", "", ErrPathIllegal},
		{"dot", ".", ErrPathIllegal},
		{"dot-dot", "..", ErrPathIllegal},
		{"slash", "a/b", ErrPathIllegal},
		{"decomposed", "e\u0301", ErrPathIllegal},
		{"not UTF-8", "\xff", ErrPathIllegal},
		{"control", "a\tb", ErrPathIllegal},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, CheckName(c.text), c.want) })
	}
}

func TestR12_NormalName(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "e\u0301": "\u00e9", "\u00e9": "\u00e9", "\u212b": "\u00c5", "\uac00": "\uac00", "\u1100\u1161": "\uac00",
		"a\u0323\u0307": "\u1ea1\u0307", "\xff": "\xff", "e\u0301\xff": "e\u0301\xff", "": "", "\ufb01": "\ufb01",
	} {
		require.Equal(t, want, NormalName(in), "%+q", in)
	}
}

func TestR12_NormalNameIsLegalAfterManyMarks(t *testing.T) {
	name := "x" + strings.Repeat("\u0335", 31)
	require.ErrorIs(t, CheckName(name), ErrPathIllegal)
	require.NoError(t, CheckName(NormalName(name)))
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
		{"largest", strings.Repeat("x", MaxContent), nil},
		{"largest in wide characters", strings.Repeat("é", MaxContent/2), nil},
		{"a byte too large", strings.Repeat("x", MaxContent+1), ErrTooLarge},
		{"too large, and not text", strings.Repeat("\xff", MaxContent+1), ErrTooLarge},
		{"not UTF-8", "a\xff", ErrNotText},
		{"cut character", "\xe2\x82", ErrNotText},
		{"surrogate in UTF-8", "\xed\xa0\x80", ErrNotText},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorIs(t, CheckContent([]byte(c.content)), c.want) })
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
		require.Equal(t, c.want, Overlap(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, Overlap(c.b, c.a), "%s %s", c.b, c.a)
	}
}

func TestR13_Marker(t *testing.T) {
	require.Equal(t, "version 1\nmemstore_x", string(Marker("memstore_x")))
	require.NoError(t, CheckName(MarkerName))
}
