package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/flags"
)

// helpTopics are the pages of memfs help that belong to no command. They are
// made when the tree of commands is complete.
func helpTopics(root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Every environment variable", Long: environmentHelp(root)},
		{Use: "exit-codes", Short: "What exit codes mean", Long: exitCodeHelp()},
	}
}

// strictHelp has help and completion take what they do not know for a mistake.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				if err == nil && len(rest) == 0 {
					return topic.Help()
				}
				return exitcode.Errorf(exitcode.Usage, "there is no help for %q (see %s --help)", strings.Join(args, " "), root.Name())
			}
		}
	}
}

// others are the variables that belong to no flag.
var others = []struct{ name, use string }{
	{"ANTHROPIC_API_KEY", "key for the API; also ANTHROPIC_API_KEY_FILE, which names a file"},
	{"ANTHROPIC_AUTH_TOKEN", "token for the API, instead of a key; also with _FILE"},
	{"ANTHROPIC_BASE_URL", "address of the API"},
	{"ANTHROPIC_ENVIRONMENT_ID", "environment whose work memfs worker claims"},
	{"ANTHROPIC_ENVIRONMENT_KEY", "key of that environment; also with _FILE"},
	{"ANTHROPIC_SESSION_ID", "session of the work item, for memfs worker run"},
	{"ANTHROPIC_WORK_ID", "work item, for memfs worker run"},
	{"ANTHROPIC_WORK_LAST_HEARTBEAT", "its last heartbeat, for memfs worker run"},
	{"ANTHROPIC_WORK_SECRET", "its secret, for memfs worker run"},
	{"CREDENTIALS_DIRECTORY", "directory with secrets in files of their variables' names (systemd's LoadCredential=)"},
	{"MEMFS_SERVE_KEY", "the one key that memfs serve accepts; also with _FILE"},
	{"NOTIFY_SOCKET", "service manager to tell how memfs mount does (systemd's Type=notify)"},
	{"NO_COLOR", "no colours on a terminal"},
	{"RUNTIME_DIRECTORY", "directory for control sockets (systemd's RuntimeDirectory=)"},
	{"STATE_DIRECTORY", "directory for journals and caches (systemd's StateDirectory=)"},
	{"XDG_RUNTIME_DIR", "where the control sockets of an ordinary user are, in memfs/"},
	{"XDG_STATE_HOME", "where the journals and caches of an ordinary user are, in memfs/"},
}

// use is what some commands mean by a variable.
type use struct {
	text     string
	commands []string
}

func environmentHelp(root *cobra.Command) string {
	said := map[string][]use{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		name := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		add := func(f *pflag.Flag) {
			if variable := flags.Variable(f.Name); flags.Bound(f) && !f.Hidden {
				_, usage := pflag.UnquoteUsage(f)
				text := strings.TrimSuffix(usage, " [$"+variable+"]")
				i := slices.IndexFunc(said[variable], func(u use) bool { return u.text == text })
				if i < 0 {
					i = len(said[variable])
					said[variable] = append(said[variable], use{text: text})
				}
				if cmd != root {
					u := &said[variable][i]
					u.commands = append(u.commands, name)
				}
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.PersistentFlags().VisitAll(add)
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, o := range others {
		said[o.name] = []use{{text: o.use}}
	}
	var names []string
	for name := range said {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	out.WriteString(`Every flag has a variable; the flag goes before it, and an empty variable is none.
Yes and no are true and false. Secrets are in variables and files, never in flags.

`)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, name := range names {
		for _, u := range said[name] {
			if len(u.commands) > 0 {
				slices.Sort(u.commands)
				u.text += " (" + strings.Join(slices.Compact(u.commands), ", ") + ")"
			}
			_, _ = fmt.Fprintf(w, "  %s\t%s\n", name, u.text)
			name = "" // the commands below it mean something else by it
		}
	}
	_ = w.Flush() // into memory
	return strings.TrimSuffix(out.String(), "\n")
}

func exitCodeHelp() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, c := range exitcode.Codes() {
		_, _ = fmt.Fprintf(w, "  %d\t%s\n", c.Code, c.Meaning)
	}
	_ = w.Flush() // into memory
	out.WriteString("\nmemfs exec ends with its command's own code: 128 and the signal's number where\none killed it.")
	return out.String()
}
