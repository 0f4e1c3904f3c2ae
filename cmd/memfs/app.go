package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/daemon"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/flags"
	"memfs/cmd/memfs/internal/logging"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store/local"
)

// app is one run of the program: what its commands have in common.
type app struct {
	stdout, stderr io.Writer

	// The flags of every command.
	local, logLevel, logFormat string

	// log is ready when a command runs.
	log *zap.Logger
	// args is the command line, for the background process.
	args []string
	// umask is the one that memfs was started with.
	umask int
	// running tells a failure of the command from one to understand its
	// command line.
	running bool
}

// run runs the command that args name and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.args = args
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.running {
		err = exitcode.Errorf(exitcode.Usage, "%s (see %s --help)", suggested(understood.ReplaceAllString(err.Error(), "not one that this flag takes")), cmd.CommandPath())
	}
	if err != nil && cmd.Name() == execName {
		err = execFailure(err)
	}
	a.explain(err)
	return exitcode.Of(err)
}

// understood is how the flag library says that a word is no number or no truth
// value.
var understood = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": .*$`)

// explain says in one line what went wrong and what to do about it.
func (a *app) explain(err error) {
	if err == nil || errors.Is(err, daemon.ErrSaid) || err.Error() == "" {
		return
	}
	message := visible.Line(oneLine(err.Error()))
	if remedy := exitcode.Remedy(err); remedy != "" {
		message += ": " + remedy
	}
	logging.Say(a.stderr, "memfs: "+message+"\n")
}

func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.TrimSpace(strings.Join(lines, "; "))
}

// command is the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "memfs",
		Short: "Mount Claude memory stores as filesystems",
		Long: `memfs mounts Claude memory stores as filesystems: content is fetched when it is
read, every write is in a journal on disk before it is acknowledged, and changes
travel both ways on the sync interval.

Unofficial, not affiliated with Anthropic; the memory-store API is a beta.

Every flag has an environment variable, named beside it. Secrets are never
flags: the API key comes from ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, from
the file that one of these with _FILE at its end names, or from a file of that
name in $CREDENTIALS_DIRECTORY. ANTHROPIC_BASE_URL says which API is meant.

memfs help environment lists every variable, memfs help exit-codes the codes
that commands end with.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.prepare,
	}
	set := root.PersistentFlags()
	set.StringVar(&a.local, "local", "", "use the embedded store in this `directory` instead of the API")
	flags.ChoiceVar(set, &a.logLevel, "log-level", "info", logging.Levels(), "least severe events that are logged")
	flags.ChoiceVar(set, &a.logFormat, "log-format", logging.Text, logging.Formats(), "how the log looks, on standard error")
	root.AddCommand(a.mountCommand(), a.unmountCommand(), a.execCommand(), a.statusCommand(), a.syncCommand(), a.recoverCommand(), a.storeCommand(), a.serveCommand(),
		a.doctorCommand(), a.versionCommand(), a.workerCommand(), a.guardCommand(), a.rehearseCommand())
	root.AddCommand(a.inspectCommand(), a.historyCommand(), a.restoreCommand(), a.conflictsCommand(), a.repairCommand())
	flags.Describe(root)
	root.AddCommand(helpTopics(root)...)
	strictHelp(root)
	return root
}

// prepare is what comes before every command.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	err := flags.FromEnvironment(cmd.Flags(), os.LookupEnv)
	if err != nil {
		return err
	}
	a.running = true
	if a.umask, err = process.Harden(); err != nil {
		return err
	}
	a.log, err = logging.New(zapcore.AddSync(a.stderr), a.logLevel, a.logFormat)
	return err
}

// open gives a command its API; done closes it. A directory named by mistake
// is no embedded store, and does not become one.
func (a *app) open() (b *backend.Backend, done func(), err error) {
	return a.openWrapped(nil)
}

// create is open for commands that make stores: the first of them makes the
// embedded store, too.
func (a *app) create() (b *backend.Backend, done func(), err error) {
	return a.openAny(nil)
}

// openWrapped is open with something around what carries the requests.
func (a *app) openWrapped(wrap func(http.RoundTripper) http.RoundTripper) (b *backend.Backend, done func(), err error) {
	if a.local != "" && !local.Exists(a.local) {
		return nil, nil, exitcode.Errorf(exitcode.Usage, "no embedded store at %s: correct --local (MEMFS_LOCAL), or make one: memfs store create NAME --local %s", a.local, a.local)
	}
	return a.openAny(wrap)
}

func (a *app) openAny(wrap func(http.RoundTripper) http.RoundTripper) (b *backend.Backend, done func(), err error) {
	b, err = backend.OpenWrapped(a.local, a.log, wrap)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { a.close(b.Close) }, nil
}

// close is for what is closed when nothing depends on it any more.
func (a *app) close(f func() error) {
	if err := f(); err != nil {
		a.log.Error("not closed cleanly", zap.String("code", "not_closed"), zap.Error(err))
	}
}

// none is a usage error for what no command asked for.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags alone, and not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// group is a usage error for a word that is none of a command's own commands.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), like(cmd.SuggestionsFor(args[0])))
}

// suggested has the command line library's list of commands that are like the
// mistyped one in one sentence with the mistake.
func suggested(text string) string {
	text, list, _ := strings.Cut(text, "\n\nDid you mean this?\n")
	return text + like(strings.Fields(list))
}

func like(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// words is a usage error that names what is missing.
func words(least int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return errors.New(what)
		}
		return nil
	}
}
