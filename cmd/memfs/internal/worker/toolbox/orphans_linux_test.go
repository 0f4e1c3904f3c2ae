package toolbox

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// R15: what a tool left cannot run from its end by forking and ending, over and
// over.
func TestR15_AChainOfForksEnds(t *testing.T) {
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { assert.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
	c := exec.Command("perl", "-e", `my $end = time + 20; while (time < $end) { exit 0 if fork }`)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Run(); err != nil {
		t.Skip("no perl: ", err)
	}
	began := time.Now()
	require.NoError(t, killOrphans())
	assert.Less(t, time.Since(began), orphansTime)
}
