package store

import (
	"errors"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{"", "/", "/a", "a", "/a/b", "/a//b", "/../x", "/a/.", "/e\u0301", "/\u200d", "/\xff", "/a\x00", strings.Repeat("/s", 21), "/" + strings.Repeat("n", 1_024)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		err := CheckPath(p)
		if err != nil {
			if !errors.Is(err, ErrPathIllegal) && !errors.Is(err, ErrPathTooLong) {
				t.Fatalf("%+q: untyped %v", p, err)
			}
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("%+q: message is not text", p)
			}
			return
		}
		names := strings.Split(p, "/")
		switch {
		case path.Clean(p) != p || !path.IsAbs(p) || p == "/":
			t.Fatalf("%+q is legal but not a clean absolute path", p)
		case len(p) > MaxPath || len(names)-1 > MaxSegments:
			t.Fatalf("%+q is legal but too long", p)
		case !utf8.ValidString(p) || !norm.NFC.IsNormalString(p):
			t.Fatalf("%+q is legal but not UTF-8 in NFC", p)
		case strings.ContainsAny(p, "\x00\n\r\t\x7f\u0085\u00ad\u200b\u200d\u202e\u2028\u2029\ufeff"):
			t.Fatalf("%+q is legal but holds an invisible character", p)
		case Overlap(p, p):
			t.Fatalf("%+q overlaps itself", p)
		case len(names) > 2 && !Overlap(p, path.Dir(p)):
			t.Fatalf("%+q does not overlap its parent", p)
		case len(names) > 2 && CheckPath(path.Dir(p)) != nil:
			t.Fatalf("%+q is legal but its parent is not", p)
		}
		for _, name := range names[1:] {
			if err := CheckName(name); (err == nil) != (len(name) <= MaxSegment) {
				t.Fatalf("%+q is legal but its name %+q: %v", p, name, err)
			}
		}
	})
}

func FuzzNormalName(f *testing.F) {
	for _, seed := range []string{"", "a", "e\u0301", "\u212b", "\u1100\u1161", "\xff", "e\u0301\xff", "a\u0323\u0307", ".\u0338", "/\u0338"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := NormalName(name)
		switch {
		case NormalName(got) != got:
			t.Fatalf("%+q: normal form %+q is not final", name, got)
		case !utf8.ValidString(name) && got != name:
			t.Fatalf("%+q: invalid UTF-8 was changed to %+q", name, got)
		case utf8.ValidString(name) && !norm.NFC.IsNormalString(got):
			t.Fatalf("%+q: %+q is not NFC", name, got)
		case norm.NFD.String(got) != norm.NFD.String(name):
			t.Fatalf("%+q: %+q is another name", name, got)
		case strings.Contains(got, "/") != strings.Contains(name, "/"):
			t.Fatalf("%+q: a slash came or went in %+q", name, got)
		case CheckName(name) == nil && got != name:
			t.Fatalf("%+q is legal but changes to %+q", name, got)
		}
	})
}
