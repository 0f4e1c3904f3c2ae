//go:build linux

package posix

// programs is the list. The commands that it needs are those that .ci/run
// installs.
func programs() []program {
	return append(append(editors(), filters()...), tools()...)
}

// note is what most of them change.
func note() map[string]string { return map[string]string{"note.md": "one\nlast\n"} }

func changed() map[string]string { return map[string]string{"note.md": "two\nlast\n"} }

func editors() []program {
	return []program{
		{name: "vim", needs: []string{"vim"}, files: note(), want: changed(),
			script: `vim -u NONE -i NONE -n -es +'1s/one/two/' +wq note.md; test "$(ls -A)" = note.md`},
		{name: "vim with swap file and backup", needs: []string{"vim"}, files: note(), want: changed(),
			script: `vim -u NONE -i NONE -es +'set backup backupskip= backupcopy=no' +'1s/one/two/' +wq note.md; test -e note.md~`},
		{name: "vim in place", needs: []string{"vim"}, files: note(), want: changed(),
			script: `vim -u NONE -i NONE -es +'set backupcopy=yes' +'1s/one/two/' +wq note.md`},
		{name: "nano", needs: []string{"nano"}, files: note(), want: changed(), script: `exec nano --ignorercfiles note.md`,
			shows: "one", keys: "\x1b[3~\x1b[3~\x1b[3~two\x0f\r\x18"}, // delete, type, write out, exit
		// By themselves vim makes no backups in /tmp, and emacs none in batch mode.
		{name: "emacs", needs: []string{"emacs"}, files: note(), want: changed(), state: map[string]string{"note.md~": "scratch"},
			script: `emacs -Q --batch note.md --eval '(setq backup-inhibited nil backup-enable-predicate (lambda (_) t))' ` + emacsEdit},
		{name: "emacs that backs up by copying", needs: []string{"emacs"}, files: note(), want: changed(), state: map[string]string{"note.md~": "scratch"},
			script: `emacs -Q --batch note.md --eval '(setq backup-inhibited nil backup-by-copying t backup-enable-predicate (lambda (_) t))' ` + emacsEdit},
		{name: "ed", needs: []string{"ed"}, files: note(), want: changed(), script: `printf '1s/one/two/\nw\nq\n' | ed -s note.md`},
	}
}

const emacsEdit = `--eval '(progn (goto-char (point-min)) (delete-char 3) (insert "two") (save-buffer))'`

func filters() []program {
	return []program{
		{name: "sed -i", files: note(), want: changed(), script: `sed -i s/one/two/ note.md`},
		{name: "sed -i with a backup", files: note(), want: changed(), script: `sed -i~ s/one/two/ note.md; grep -q one note.md~`},
		{name: "perl -i", needs: []string{"perl"}, files: note(), want: changed(), script: `perl -i -pe s/one/two/ note.md`},
		{name: "patch", needs: []string{"patch"}, files: note(), want: changed(),
			script: "printf -- '--- note.md\\n+++ note.md\\n@@ -1,2 +1,2 @@\\n-one\\n+two\\n last\\n' | patch -p0"},
		{name: "jq and mv", needs: []string{"jq"}, files: map[string]string{"a.json": `{"a":1}`}, want: map[string]string{"a.json": "{\"a\":2}\n"},
			script: `jq -c .a=2 a.json > tmp && mv tmp a.json`},
		{name: "shell", files: note(), want: map[string]string{"note.md": "two\nlast\n", "b.md": "x\ny\n"},
			script: `printf 'two\nlast\n' > note.md; echo x > b.md; echo y >> b.md`},
		{name: "python os.replace", needs: []string{"python3"}, files: note(), want: changed(), script: `python3 -c '
import os, tempfile
fd, name = tempfile.mkstemp(dir=".")
with os.fdopen(fd, "w") as f:
    f.write("two\nlast\n"); f.flush(); os.fsync(f.fileno())
os.replace(name, "note.md")'`},
		{name: "python pathlib", needs: []string{"python3"}, files: note(), want: changed(),
			script: `python3 -c 'import pathlib; p = pathlib.Path("note.md"); p.write_text(p.read_text().replace("one", "two"))'`},
		{name: "sqlite3", needs: []string{"sqlite3"}, want: map[string]string{}, says: []string{"42", "ok"}, state: map[string]string{"a.db": "refused"},
			script: `sqlite3 a.db 'create table t(x); insert into t values(42); update t set x = x; select x from t; pragma integrity_check'`},
		{name: "python sqlite3", needs: []string{"python3"}, want: map[string]string{}, says: []string{"[(42,)]"}, state: map[string]string{"a.db": "refused"},
			script: `python3 -c '
import sqlite3
c = sqlite3.connect("a.db")
c.execute("create table t(x)"); c.execute("insert into t values(42)"); c.commit()
print(c.execute("select x from t").fetchall())'`},
	}
}

func tools() []program {
	tree := map[string]string{"src/a.md": "alpha\n", "src/d/b.md": "beta\n"}
	copied := map[string]string{"src/a.md": "alpha\n", "src/d/b.md": "beta\n", "dst/a.md": "alpha\n", "dst/d/b.md": "beta\n"}
	return []program{
		{name: "git", needs: []string{"git"}, want: map[string]string{"w/a.md": "alpha\n", "w/b.md": "beta\n"},
			says: []string{"nothing to commit"},
			script: `git init -q -b main $OUT/r; cd $OUT/r; echo alpha > a.md; git add a.md; git commit -qm one; cd - >/dev/null
git clone -q $OUT/r w; cd w; git fsck --strict; echo beta > b.md; git add b.md; git commit -qm two
git gc -q; git fsck --strict; git status; git checkout -q HEAD~1; test ! -e b.md; git checkout -q main; git log --oneline | wc -l | grep -q 2`},
		{name: "git init", needs: []string{"git"}, files: note(), want: note(),
			script: `git init -q -b main .; git add note.md; git commit -qm one; git repack -adq; git stash list; git fsck`},
		{name: "rsync", needs: []string{"rsync"}, files: note(), want: changed(),
			script: `mkdir $OUT/s; printf 'two\nlast\n' > $OUT/s/note.md; rsync -a --checksum $OUT/s/ ./; rsync -ai $OUT/s/ ./`},
		{name: "rsync --inplace", needs: []string{"rsync"}, files: note(), want: changed(),
			script: `mkdir $OUT/s; printf 'two\nlast\n' > $OUT/s/note.md; rsync -a --checksum --inplace $OUT/s/ ./`},
		{name: "rsync --delete", needs: []string{"rsync"}, files: map[string]string{"dst/old.md": "old\n", "dst/a.md": "alpha\n", "src/a.md": "alpha\n", "src/d/b.md": "beta\n"},
			want: copied, script: `rsync -a --delete src/ dst/; test -z "$(rsync -ain --delete src/ dst/)"`},
		{name: "cp -a", files: tree, want: copied, script: `touch -d @1000000000 src/a.md; cp -a src dst; test $(stat -c %Y dst/a.md) = 1000000000`},
		{name: "tar", files: tree, want: copied,
			script: `touch -d @1000000000 src/a.md; tar -C src -cf $OUT/t.tar .; mkdir dst; tar -C dst -xpf $OUT/t.tar; tar -C dst -df $OUT/t.tar`},
		{name: "mv", files: tree, want: map[string]string{"dst/a.md": "alpha\n", "dst/d/b.md": "beta\n"}, script: `mv src dst`},
		{name: "find, grep, du, wc, sort, ls", files: tree, want: tree, says: []string{"src/d/b.md", "src/a.md:1:alpha", "1024\tsrc/a.md", "11 total", "alpha beta"},
			script: `find . -type f -size -2 -newermt 2000-01-01; grep -rn alpha src; du --block-size=1 --apparent-size src >/dev/null
du -B512 src/a.md | sed 's/^1\t/1024\t/'; find src -name '*.md' | xargs wc -c | tail -1; sort -o $OUT/s src/a.md src/d/b.md; echo $(cat $OUT/s); ls -lR >/dev/null`},
		{name: "flock", needs: []string{"flock"}, files: note(), want: note(), says: []string{"busy", "free"},
			script: `flock note.md sh -c 'flock -n note.md true || echo busy'; flock -n note.md echo free`},
		{name: "mktemp and ln", files: note(), want: note(), says: []string{"Operation not permitted"},
			script: `f=$(mktemp ./tmp.XXXXXX); rm $f; ln -s note.md link 2>&1 || true; ln note.md link 2>&1 || true; mkfifo p 2>&1 || true`},
		{name: "getfacl, getfattr, install", needs: []string{"getfacl", "getfattr"}, files: note(), want: map[string]string{"note.md": "one\nlast\n", "b.md": "one\nlast\n"},
			says: []string{"user::rw-", "user.memfs.id="}, script: `getfacl note.md; getfattr -d note.md; install -m 600 note.md b.md`},
	}
}
