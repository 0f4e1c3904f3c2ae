// Package hostile attacks memfs: servers that answer wrongly, programs on the
// mount that mean harm, and state directories that somebody prepared. Each
// attack runs against the real program and real mounts, and the same must hold
// after each: nothing outside the mount was touched, nothing panicked, hung or
// grew without bound, what was wrong is counted and said in lines that a
// terminal can be shown, and the agent's own files are safe.
package hostile
