package posix

import (
	"testing"

	"memfs/integration/mounttest"
)

func TestMain(m *testing.M) { mounttest.Main(m) }
