package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryLogMessageIsInTheManual reads the sources: each code that a line of
// the log can have is an entry in OPERATIONS.md with the words of the line, and
// each entry is a code. What is logged as a warning or an error has one.
func TestEveryLogMessageIsInTheManual(t *testing.T) {
	seen := messagesOf(t)
	for _, place := range seen.uncoded {
		assert.Fail(t, "a warning or an error without a code", place)
	}
	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(manual), "\n## Log messages\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	entries := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$").FindAllStringSubmatch(section, -1) {
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			assert.False(t, entries[code[1]], "two entries for %s", code[1])
			entries[code[1]] = true
		}
		for _, words := range strings.Split(row[2], " / ") {
			if !strings.Contains(seen.words, words) {
				assert.Fail(t, "no line of the log says this", words)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(seen.codes)) {
		assert.True(t, entries[code], "no entry for the code %s (%s)", code, seen.codes[code])
	}
	for code := range entries {
		assert.Contains(t, seen.codes, code, "no line of the log has this code")
	}
}

// messages are what the sources log.
type messages struct {
	codes   map[string]string // a code and one place where it is logged
	uncoded []string
	words   string // all texts in the sources
}

func messagesOf(t *testing.T) messages {
	t.Helper()
	m := messages{codes: map[string]string{}}
	for _, root := range []string{"../../memfs.go", "../../fs", "../../reconcile", "../../guard", "../../store", "."} {
		for _, file := range sources(t, root) {
			m.read(t, file)
		}
	}
	return m
}

func (m *messages) read(t *testing.T, file source) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file.name, file.text, 0)
	require.NoError(t, err)
	at := func(n ast.Node) string { return filepath.Clean(set.Position(n.Pos()).String()) }
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			m.words += text(n) + "\n"
		case *ast.CallExpr:
			if called(n) == "Debug" {
				return false // nobody sees it who does not ask
			}
			if code := codeOf(n); code != "" {
				m.codes[code] = at(n)
			}
			if logs(n) && !strings.Contains(file.name, "internal/worker/") && !coded(n) {
				m.uncoded = append(m.uncoded, at(n))
			}
		case *ast.CompositeLit: // a fault of the worker has its code second
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "fault" && len(n.Elts) == 3 {
				m.codes[text(n.Elts[1])] = at(n)
			}
		case *ast.FuncDecl: // the kinds of a failed pass are codes
			if n.Name.Name == "kindOf" {
				m.returned(n, at(n))
			}
		}
		return true
	})
}

func (m *messages) returned(f *ast.FuncDecl, place string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && text(r.Results[0]) != "" {
			m.codes[text(r.Results[0])] = place
		}
		return true
	})
}

// codeOf is the code that a call puts into the log: zap.String("code", "x"),
// code("x", ...) or say("x"); "" for others.
func codeOf(call *ast.CallExpr) string {
	switch name := called(call); {
	case name == "String" && len(call.Args) == 2 && text(call.Args[0]) == "code":
		return text(call.Args[1])
	case (name == "code" || name == "say") && len(call.Args) > 0:
		return text(call.Args[0])
	}
	return ""
}

// logs reports whether a call is a warning or an error in the log.
func logs(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Warn" && f.Sel.Name != "Error" || len(call.Args) == 0 {
		return false
	}
	switch on := f.X.(type) {
	case *ast.Ident:
		return strings.EqualFold(on.Name, "log")
	case *ast.SelectorExpr:
		return strings.EqualFold(on.Sel.Name, "log")
	}
	return false
}

// coded reports whether a line of the log has a code, or fields that were made
// before.
func coded(call *ast.CallExpr) bool {
	found := call.Ellipsis.IsValid()
	ast.Inspect(call, func(n ast.Node) bool {
		if inner, ok := n.(*ast.CallExpr); ok && called(inner) == "String" && len(inner.Args) == 2 && text(inner.Args[0]) == "code" {
			found = true
		}
		return true
	})
	return found
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// text is the value of a string literal; "" for anything else.
func text(n ast.Node) string {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, _ := strconv.Unquote(literal.Value)
	return value
}
