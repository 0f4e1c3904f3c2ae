package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
)

// together runs n calls at once and returns their errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

func raceChecks() []check {
	return []check{
		{name: "of creates that overlap one wins", run: func(t *testing.T, c *client) {
			overlapping := []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a", "/a/b"}
			errs := together(len(overlapping), func(i int) error {
				_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: overlapping[i], Content: anthropic.String("x")})
				return err
			})
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
					continue
				}
				requireFailure(t, err, http.StatusConflict, "memory_path_conflict_error")
			}
			require.Equal(t, 1, won)
			require.Len(t, c.list(t, listParams{}), 1)
			require.Len(t, c.history(t, histParams{}), 1)
		}},
		{name: "of updates that expect the same content one wins", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "old")
			errs := together(8, func(i int) error {
				_, err := c.update(t, m.ID, editParams{Content: anthropic.String(fmt.Sprint("new", i)), Precondition: expect("old")})
				return err
			})
			winner := -1
			for i, err := range errs {
				if err == nil {
					require.Equal(t, -1, winner, "two updates won")
					winner = i
					continue
				}
				requireFailure(t, err, http.StatusConflict, "memory_precondition_failed_error")
			}
			require.Equal(t, fmt.Sprint("new", winner), c.get(t, m.ID).Content)
		}},
		{name: "concurrent changes are all kept, each with its version", run: func(t *testing.T, c *client) {
			const n = 30
			for _, err := range together(n, func(i int) error {
				_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: fmt.Sprintf("/dir%d/%d", i%3, i), Content: anthropic.String("x")})
				return err
			}) {
				require.NoError(t, err)
			}
			require.Len(t, c.list(t, listParams{}), n)
			require.Len(t, c.history(t, histParams{}), n)
		}},
	}
}
