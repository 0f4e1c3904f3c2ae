//go:build linux

package workload

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"memfs/store"
)

// copy is cp, which writes in place.
func (w *Worker) copy(from, to string) op {
	text := w.Now()[from]
	if from == to || text == "" {
		return w.save(from)
	}
	worlds := []World{w.Now().Put(to, text)}
	if !w.has(to) {
		worlds = append([]World{w.Now().Put(to, "")}, worlds...)
	}
	return op{name: "cp " + from + " " + to, worlds: worlds, file: to, torn: []torn{{name: to, text: text}}, run: func() error {
		return w.tool("cp", w.at(from), w.at(to))
	}}
}

// sed is sed -i: a temporary file and a rename.
func (w *Worker) sed(name string) op {
	w.n++
	mark := fmt.Sprintf("sed %d", w.n)
	old := w.Now()[name]
	if !strings.HasSuffix(old, "\n") || strings.Contains(old, "\x00") {
		return w.save(name)
	}
	return op{name: "sed " + name, worlds: []World{w.Now().Put(name, mark+"\n"+old)}, run: func() error {
		return w.tool("sed", "-i", "1i"+mark, w.at(name))
	}}
}

// redirect is a shell's > and >>.
func (w *Worker) redirect(name string) op {
	w.n++
	text := fmt.Sprintf("written by a shell %d\n", w.n)
	if w.rng.IntN(2) == 0 && w.has(name) && len(w.Now()[name])+len(text) <= store.MaxContent {
		return op{name: "shell >> " + name, worlds: []World{w.Now().Put(name, w.Now()[name]+text)}, file: name, torn: w.appended(name, text), run: func() error {
			return w.tool("sh", "-c", `printf %s "$1" >> "$2"`, "sh", text, w.at(name))
		}}
	}
	worlds := []World{w.Now().Put(name, text)}
	if !w.has(name) {
		worlds = append([]World{w.Now().Put(name, "")}, worlds...)
	}
	return op{name: "shell > " + name, worlds: worlds, file: name, torn: []torn{{name: name, text: text}}, run: func() error {
		return w.tool("sh", "-c", `printf %s "$1" > "$2"`, "sh", text, w.at(name))
	}}
}

// python appends and syncs.
func (w *Worker) python(name string) op {
	w.n++
	text := fmt.Sprintf("appended by python %d\n", w.n)
	if len(w.Now()[name])+len(text) > store.MaxContent {
		return w.save(name)
	}
	return op{name: "python appends to " + name, worlds: []World{w.Now().Put(name, w.Now()[name]+text)}, file: name, torn: w.appended(name, text), run: func() error {
		return w.tool("python3", "-c", "import os, sys\nwith open(sys.argv[1], 'a') as f:\n  f.write(sys.argv[2]); f.flush(); os.fsync(f.fileno())", w.at(name), text)
	}}
}

// grep reads everything, and finds nothing.
func (w *Worker) grep() op {
	return op{name: "grep -r", worlds: []World{w.Now()}, run: func() error {
		out, err := exec.Command("grep", "-r", "never written", w.Dir).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			return nil
		}
		return fmt.Errorf("%w: %w: %s", ErrTool, err, out)
	}}
}

// rm removes a directory with what is in it, in whatever order.
func (w *Worker) rm() op {
	dirs := w.dirs()
	if len(dirs) == 0 {
		return w.mkdir()
	}
	dir := pick(w.rng, dirs)
	return op{name: "rm -r " + dir, worlds: []World{w.Now().Drop(dir)}, gone: dir, run: func() error {
		return w.tool("rm", "-r", w.at(dir))
	}}
}

// ErrTool: a program failed, and the text says why.
var ErrTool = errors.New("tool failed")

func (w *Worker) tool(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %w: %s", ErrTool, err, out)
	}
	return nil
}
