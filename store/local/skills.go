package local

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// skillFile is what makes a directory a skill.
const skillFile = "SKILL.md"

// latest stands for a skill's only version.
const latest = "latest"

// Skill is a skill of a session's agent: files that a worker puts where the
// agent's tools find them, in skills/NAME of their working directory.
type Skill struct {
	// Name is in lower case, words joined by hyphens.
	Name string `json:"name" yaml:"name"`
	// Files are texts by path, SKILL.md among them. One that begins with "#!"
	// can be executed.
	Files map[string]string `json:"files" yaml:"files"`
}

var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (k Skill) check() error {
	if !skillName.MatchString(k.Name) {
		return invalid("skill %q: a name is in lower case, words joined by hyphens", k.Name)
	}
	if _, ok := k.Files[skillFile]; !ok {
		return invalid("skill %s: there is no %s among its files", k.Name, skillFile)
	}
	for path := range k.Files {
		if !fs.ValidPath(path) || strings.Contains(path, `\`) {
			return invalid("skill %s: %q is no path of a file", k.Name, path)
		}
	}
	return nil
}

// archive is the skill as a worker downloads it, in a directory of its name.
func (k Skill) archive() ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, path := range slices.Sorted(maps.Keys(k.Files)) {
		header := &zip.FileHeader{Name: k.Name + "/" + path, Method: zip.Deflate}
		header.SetMode(0o644)
		if strings.HasPrefix(k.Files[path], "#!") {
			header.SetMode(0o755)
		}
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(k.Files[path])); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// skill is a skill of one session. It has one version.
type skill struct {
	Skill
	id, version string
	session     *Session
}

func skillsOf(x *Session) []skill {
	skills := make([]skill, len(x.spec.Script.Skills))
	for i, k := range x.spec.Script.Skills {
		skills[i] = skill{k, "skill_" + rand.Text(), "skillver_" + rand.Text(), x}
	}
	return skills
}

// skillRef is a skill as a session's agent has it.
type skillRef struct {
	Type    string `json:"type"`
	SkillID string `json:"skill_id"`
	Version string `json:"version"`
}

// refs has the version as it was asked for when the agent was made: an agent
// that asks for none has the latest.
func refs(skills []skill) []skillRef {
	all := make([]skillRef, len(skills))
	for i, k := range skills {
		all[i] = skillRef{"custom", k.id, latest}
	}
	return all
}

// skillVersion is a skill's version as the API writes it.
type skillVersion struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	SkillID     string `json:"skill_id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAt   stamp  `json:"created_at"`
}

func (s *Server) routeSkills(mux *http.ServeMux) {
	const one = "/v1/skills/{skill}/versions/{version}"
	anyBeta := func(http.Header) error { return nil } // the API's own client names none
	for path, f := range map[string]endpoint{one: s.getSkill, one + "/content": s.downloadSkill} {
		mux.Handle("GET "+path, s.serveFor(apiKey|environmentKey|sessionsToken, anyBeta, f))
	}
}

// skillOf returns the skill that a call names.
func (s *Server) skillOf(c *call) (skill, error) {
	id, version := c.request.PathValue("skill"), c.versionID()
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	for _, x := range s.agents.sessions {
		for _, k := range x.skills {
			if k.id == id && (version == k.version || version == latest) {
				return k, c.checkSession(x.id)
			}
		}
	}
	return skill{}, unknown("skill version", id+"/"+version)
}

func (s *Server) getSkill(c *call) (any, error) {
	k, err := s.skillOf(c)
	if err != nil {
		return nil, err
	}
	return skillVersion{Type: "skill_version", ID: k.version, SkillID: k.id, Name: k.Name, CreatedAt: k.session.created}, nil
}

// downloadSkill knows no "latest", like the API.
func (s *Server) downloadSkill(c *call) (any, error) {
	k, err := s.skillOf(c)
	if err == nil && c.versionID() != k.version {
		err = unknown("skill version", c.versionID())
	}
	if err != nil {
		return nil, err
	}
	text, err := k.archive()
	return zipped(text), err
}

// zipped is an answer that is a zip archive.
type zipped []byte

func (z zipped) send(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/zip")
	_, _ = w.Write(z) // only fails when the client is gone
}
