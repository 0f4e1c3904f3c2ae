package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/mounted"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store"
)

func (a *app) historyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history FILE",
		Short: "List the versions of a file in a mount",
		Long: `List the versions that the store has of a file in a mount, the newest first. For
a file that was deleted they are those of the memory that stood there last.

A redacted version has lost its text, path and hash for good.`,
		Example: "  memfs history /mnt/memory/notes/plan.md",
		Args:    one("name one file in a mount"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := a.open()
			if err != nil {
				return err
			}
			defer done()
			s, err := subjectOf(cmd.Context(), b.Reader, args[0])
			if err != nil {
				return err
			}
			versions, err := s.versions(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(versionViews(versions))
			}
			return a.printVersions(versions)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return cmd
}

// subject is a file in a mount and its memory.
type subject struct {
	mounted.Mount
	reader store.Reader
	// file is where it stands in the mount, path in the store.
	file, path string
	memory     string
}

// subjectOf finds the memory of a file. reader gives the API of a store.
func subjectOf(ctx context.Context, reader func(id string) store.Reader, file string) (subject, error) {
	file, err := absolute(file)
	if err != nil {
		return subject{}, err
	}
	m, err := mounted.At(file)
	if err != nil {
		return subject{}, err
	}
	s := subject{Mount: m, reader: reader(m.StoreID), file: file, path: m.Memory(file)}
	f, err := mounted.Inspect(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return subject{}, err
	}
	s.memory = f.Memory
	if s.memory == "" {
		s.memory, err = lastAt(ctx, s.reader, s.path)
	} else {
		err = nil
	}
	return s, err
}

// lastAt is the memory that stands at a path in the store, or was the last to.
func lastAt(ctx context.Context, r store.Reader, path string) (string, error) {
	m, found, err := memoryAt(ctx, r, path)
	if found || err != nil {
		return m.ID, err
	}
	id := ""
	err = store.EachVersion(ctx, r, store.VersionQuery{}, func(v store.Version) bool {
		if v.Path == path {
			id = v.MemoryID
		}
		return id == ""
	})
	if err == nil && id == "" {
		err = fmt.Errorf("the store has no version of %s: it was never sent, or too long ago", path)
	}
	return id, err
}

// memoryAt is the memory at a path, without its content.
func memoryAt(ctx context.Context, r store.Reader, at string) (m store.Memory, found bool, err error) {
	q := store.ListQuery{Prefix: strings.TrimSuffix(path.Dir(at), "/") + "/", Children: true}
	err = store.EachPage(ctx, r, q, func(page store.ListPage) bool {
		if i := slices.IndexFunc(page.Memories, func(m store.Memory) bool { return m.Path == at }); i >= 0 {
			m, found = page.Memories[i], true
		}
		return !found
	})
	return m, found, err
}

// versions are the memory's, the newest first.
func (s subject) versions(ctx context.Context) ([]store.Version, error) {
	var all []store.Version
	err := store.EachVersion(ctx, s.reader, store.VersionQuery{MemoryID: s.memory}, func(v store.Version) bool {
		all = append(all, v)
		return true
	})
	return all, err
}

// versionView is a version as commands show it.
type versionView struct {
	ID         string    `json:"id"`
	MemoryID   string    `json:"memory_id"`
	Operation  string    `json:"operation"`
	Path       string    `json:"path,omitempty"`
	Size       *int64    `json:"size,omitempty"`
	SHA        string    `json:"sha256,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  actorView `json:"created_by"`
	RedactedAt time.Time `json:"redacted_at,omitzero"`
}

type actorView struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func versionViews(versions []store.Version) []versionView {
	views := make([]versionView, len(versions))
	for i, v := range versions {
		views[i] = versionView{ID: v.ID, MemoryID: v.MemoryID, Operation: string(v.Operation), Path: v.Path, CreatedAt: v.CreatedAt,
			CreatedBy: actorView(v.CreatedBy), RedactedAt: v.RedactedAt}
		if !v.SHA.IsZero() {
			views[i].Size, views[i].SHA = &versions[i].Size, v.SHA.String()
		}
	}
	return views
}

func (a *app) printVersions(versions []store.Version) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "VERSION\tTIME\tOPERATION\tSIZE\tSHA256\tBY\tPATH")
	for _, v := range versions {
		size, sum, at := "-", "-", v.Path
		if !v.SHA.IsZero() {
			size, sum = strconv.FormatInt(v.Size, 10), v.SHA.String()[:12]
		}
		if v.Redacted() {
			at = "redacted " + moment(v.RedactedAt)
		}
		by := strings.TrimSpace(strings.TrimSuffix(v.CreatedBy.Type, "_actor") + " " + v.CreatedBy.ID)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, moment(v.CreatedAt), visible.Line(string(v.Operation)), size, sum, visible.Line(by), visible.Line(at))
	}
	return w.Flush()
}
