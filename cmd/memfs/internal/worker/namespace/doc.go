// Package namespace gives sessions and tools mount namespaces of their own, as
// root, or as an ordinary user in a user namespace where the host allows that.
package namespace
