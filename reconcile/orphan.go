package reconcile

import (
	"context"

	"memfs/store"
	"memfs/store/replica"
)

// Headless brings a replica that is not mounted and its store together: one
// ordinary pass, in which nothing rests, as nobody changes anything any more
// (R16). With allowDeletes what the mass-delete guard would hold goes too.
func Headless(ctx context.Context, r *replica.Replica, remote store.Client, o Options, allowDeletes bool) (Report, error) {
	return New(r, remote, o).Pass(ctx, PassOptions{Everything: true, AllowDeletes: allowDeletes})
}
