// Package mounttest gives tests a mounted memory store, served by a process of
// its own, since a process must never use a mount that it serves.
//
// That process is the test's own binary, started once more. So a package that
// uses Start has
//
//	func TestMain(m *testing.M) { mounttest.Main(m) }
//
// and then
//
//	m := mounttest.Start(t, mounttest.Options{Files: map[string]string{"/a.md": "text"}})
//	os.WriteFile(m.At("a.md"), ...)
//	m.Sync()
//	m.Remote.List(...)
//
// What Start made is unmounted and ended with the test, and a mount that is
// left behind fails it.
package mounttest
