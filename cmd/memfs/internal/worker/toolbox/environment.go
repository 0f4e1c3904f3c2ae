package toolbox

import (
	"slices"
	"strings"
)

// hidden are variables that say where memfs has its secrets and state, or that
// let a process speak to memfs's supervisor in its name.
var hidden = []string{
	"CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY",
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "INVOCATION_ID", "JOURNAL_STREAM",
	"SYSTEMD_EXEC_PID", "MAINPID", "MANAGERPID",
}

// Environment is what of a worker's environment its tools may have: all but
// the API's variables and memfs's own, and with a user's names where the tools
// run as another.
func Environment(environ []string, user *User) []string {
	var kept []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "ANTHROPIC_") || strings.HasPrefix(upper, "MEMFS_") || slices.Contains(hidden, name) {
			continue
		}
		if user != nil && slices.Contains([]string{"USER", "LOGNAME", "HOME", "SHELL", "MAIL"}, name) {
			continue
		}
		kept = append(kept, pair)
	}
	if user != nil {
		kept = append(kept, "USER="+user.Name, "LOGNAME="+user.Name, "HOME="+user.Home, "SHELL=/bin/bash")
	}
	return kept
}
