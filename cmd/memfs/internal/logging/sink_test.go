package logging_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"memfs/cmd/memfs/internal/logging"
)

// R14, R15: a reader that stands still holds up one line for a second, and
// nothing after it. It gets all that there is room for, in order, and the number
// of what there is not.
func TestR14_AReaderThatStandsStillHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		log, err := logging.New(zapcore.AddSync(w), "info", logging.Text)
		require.NoError(t, err)
		began := time.Now()
		const lines = 1000 // of more than 2 KiB
		for i := range lines {
			log.Info(fmt.Sprintf("line %d %s", i, strings.Repeat("x", 2<<10)))
		}
		assert.Equal(t, time.Second, time.Since(began))

		read := make(chan string)
		go func() {
			defer close(read)
			for all := bufio.NewScanner(r); all.Scan(); {
				read <- all.Text()
			}
		}()
		kept, line := 0, <-read
		for ; strings.Contains(line, fmt.Sprintf("line %d ", kept)); line = <-read {
			kept++
		}
		assert.Greater(t, kept, 400)
		assert.Regexp(t, fmt.Sprintf(`WARN .*"code": "log_lost", "lines": %d}$`, lines-kept), line)
		synctest.Wait()
		log.Info("read again")
		assert.Contains(t, <-read, "read again")
		require.NoError(t, w.Close())
		for range read {
		}
	})
}

// R15: nor do the last words of a command.
func TestR15_LastWordsWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		began := time.Now()
		logging.Say(w, "memfs: over\n")
		assert.Equal(t, time.Second, time.Since(began))
		line, err := bufio.NewReader(r).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "memfs: over\n", line)
	})
}

// R14: a line longer than all that may wait is none that nobody read.
func TestR14_ALongLineIsWritten(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	var said, logged bytes.Buffer
	logging.Say(&said, long)
	assert.Equal(t, len(long), said.Len())
	log, err := logging.New(zapcore.AddSync(&logged), "info", logging.JSON)
	require.NoError(t, err)
	log.Info(long)
	assert.Greater(t, logged.Len(), len(long))
	assert.NotContains(t, logged.String(), "log_lost")
}
