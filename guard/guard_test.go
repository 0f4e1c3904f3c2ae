package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/guard"
)

// tree makes work/, notes/, notes2/, team/ (read-only) and outside/ under one
// directory, with one file each, and returns that directory.
func tree(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"work", "notes", "notes2", "team", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir, "sub"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(top, dir, "a.md"), nil, 0o600))
	}
	return top
}

func link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name))
}

func TestCheck_Paths(t *testing.T) {
	top := tree(t)
	at := func(names ...string) string { return filepath.Join(append([]string{top}, names...)...) }
	link(t, at("outside", "a.md"), at("work", "out"))
	link(t, at("outside", "new.md"), at("work", "dangling"))
	link(t, at("notes"), at("work", "in"))
	link(t, "../team", at("notes", "sideways"))
	link(t, "../outside/../notes/a.md", at("work", "roundabout"))
	link(t, at("team"), at("alias"))
	link(t, at("outside", "sub"), at("work", "down"))
	link(t, at("team"), at("work", "aside"))
	link(t, "loop2", at("work", "loop"))
	link(t, "loop", at("work", "loop2"))
	link(t, "nowhere/../a.md", at("work", "through-nothing"))
	deep := at(append([]string{"notes"}, strings.Split(strings.Repeat("d/", 60)+"f", "/")...)...)

	g := guard.New(guard.Root{Path: at("work")}, guard.Root{Path: at("notes")}, guard.Root{Path: at("alias"), ReadOnly: true},
		guard.Root{}, guard.Root{Path: at("outside", "sub", "only.md")})
	const ok, outside, readOnly, unresolved = "", "outside", "read-only", "unresolved"
	for _, c := range []struct {
		path        string
		read, write string
	}{
		{"a.md", ok, ok},
		{"new/dir/b.md", ok, ok},
		{"./sub/../a.md", ok, ok},
		{"../notes/a.md", ok, ok},
		{"../outside/a.md", outside, outside},
		{"in/a.md", ok, ok},
		{"down/../a.md", outside, outside}, // to the kernel
		{"aside/../team/a.md", ok, readOnly},
		{"aside/../notes/a.md", ok, ok},
		{"in/new.md", ok, ok},
		{"roundabout", ok, ok},
		{"out", outside, outside},
		{"dangling", outside, outside},
		{"loop", unresolved, unresolved},
		{"loop/a.md", unresolved, unresolved},
		{"a.md/below", unresolved, unresolved},
		{"through-nothing", unresolved, unresolved},
		{at("notes"), ok, ok},
		{at("notes", "a.md"), ok, ok},
		{at("notes") + "/", ok, ok},
		{deep, ok, ok},
		{at("notes2", "a.md"), outside, outside},
		{at("notesx"), outside, outside},
		{at("team", "a.md"), ok, readOnly},
		{at("team", "new", "b.md"), ok, readOnly},
		{at("alias", "a.md"), ok, readOnly},
		{at("notes", "sideways", "a.md"), ok, readOnly},
		{at("team"), ok, readOnly},
		{at("outside", "sub", "only.md"), ok, ok},
		{at("outside", "sub", "other.md"), outside, outside},
		{top, outside, outside},
		{"/", outside, outside},
	} {
		for op, want := range map[guard.Op]string{guard.Read: c.read, guard.Write: c.write} {
			t.Run(fmt.Sprintf("%s %s", op, strings.TrimPrefix(c.path, top)), func(t *testing.T) {
				err := g.Check(c.path, op)
				switch want {
				case ok:
					require.NoError(t, err)
				case outside:
					var e *guard.OutsideError
					require.ErrorAs(t, err, &e)
					assert.Equal(t, guard.OutsideError{Path: c.path, Others: true}, *e)
				case readOnly:
					var e *guard.ReadOnlyError
					require.ErrorAs(t, err, &e)
					assert.Equal(t, guard.ReadOnlyError{Path: c.path, Root: at("alias")}, *e, "both as they were given")
				case unresolved:
					var e *guard.UnresolvedError
					require.ErrorAs(t, err, &e)
					assert.Equal(t, c.path, e.Path)
				}
			})
		}
	}
	assert.ErrorIs(t, g.Check("loop", guard.Read), syscall.ELOOP)
}

func TestCheck_Messages(t *testing.T) {
	top := tree(t)
	alone := guard.New(guard.Root{Path: filepath.Join(top, "work")}, guard.Root{})
	assert.EqualError(t, alone.Check("../x", guard.Read), `"../x" lies outside the working directory`)
	team := filepath.Join(top, "team")
	g := guard.New(guard.Root{Path: filepath.Join(top, "work")}, guard.Root{Path: team, ReadOnly: true})
	assert.EqualError(t, g.Check("../x", guard.Read),
		`"../x" lies outside the working directory and the other directories that tools may use`)
	assert.EqualError(t, g.Check("../team/a.md", guard.Write), "../team/a.md lies in the read-only directory "+team)
	link(t, "self", filepath.Join(top, "work", "self"))
	assert.EqualError(t, g.Check("self", guard.Read), "self: too many levels of symbolic links", "the host's path is not shown")
}

func TestCheck_ReadOnlyInsideAWritableRootHolds(t *testing.T) {
	top := tree(t)
	for _, roots := range [][]guard.Root{
		{{Path: "/"}, {Path: filepath.Join(top, "team"), ReadOnly: true}},
		{{Path: filepath.Join(top, "team"), ReadOnly: true}, {Path: "/"}},
		{{Path: top}, {Path: filepath.Join(top, "team"), ReadOnly: true}, {Path: filepath.Join(top, "team", "sub")}},
	} {
		g := guard.New(roots...)
		var e *guard.ReadOnlyError
		require.ErrorAs(t, g.Check(filepath.Join(top, "team", "sub", "a.md"), guard.Write), &e)
		require.NoError(t, g.Check(filepath.Join(top, "team", "sub", "a.md"), guard.Read))
		require.NoError(t, g.Check(filepath.Join(top, "notes", "a.md"), guard.Write))
	}
}

func TestCheck_LinksAreFollowedOnEveryCall(t *testing.T) {
	top := tree(t)
	root := filepath.Join(top, "root")
	link(t, filepath.Join(top, "notes"), root)
	g := guard.New(guard.Root{Path: filepath.Join(top, "work")}, guard.Root{Path: root, ReadOnly: true})
	notes, team := filepath.Join(top, "notes", "a.md"), filepath.Join(top, "team", "a.md")
	var e *guard.ReadOnlyError
	require.ErrorAs(t, g.Check(notes, guard.Write), &e)
	require.NoError(t, os.Remove(root))
	link(t, filepath.Join(top, "team"), root)
	require.ErrorAs(t, g.Check(team, guard.Write), &e)
	var outside *guard.OutsideError
	require.ErrorAs(t, g.Check(notes, guard.Read), &outside)
}

func TestCheck_RootThatCannotBeResolved(t *testing.T) {
	top := tree(t)
	loop := filepath.Join(top, "loop")
	link(t, "loop", loop)
	var outside *guard.OutsideError
	var readOnly *guard.ReadOnlyError
	grants := guard.New(guard.Root{Path: loop}, guard.Root{Path: filepath.Join(top, "work")})
	require.ErrorAs(t, grants.Check(filepath.Join(top, "notes", "a.md"), guard.Read), &outside)

	// What the loop stands for is unknown, but its own name stays protected.
	require.NoError(t, os.Mkdir(filepath.Join(top, "work", "ro"), 0o700))
	link(t, loop, filepath.Join(top, "work", "lost"))
	protects := guard.New(guard.Root{Path: filepath.Join(top, "work")}, guard.Root{Path: filepath.Join(top, "work", "lost"), ReadOnly: true})
	require.NoError(t, protects.Check("ro/a.md", guard.Write))
	require.Error(t, protects.Check("lost/a.md", guard.Write))
	require.NoError(t, os.Remove(filepath.Join(top, "work", "lost")))
	require.ErrorAs(t, protects.Check("lost/a.md", guard.Write), &readOnly, "a root that is not there yet protects too")
}

func TestCheck_NoRootsPermitNothing(t *testing.T) {
	var outside *guard.OutsideError
	require.ErrorAs(t, guard.New().Check("/etc/passwd", guard.Read), &outside)
	require.ErrorAs(t, guard.New(guard.Root{}).Check("a", guard.Read), &outside)
}
