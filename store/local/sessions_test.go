package local

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestSessionObject(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	notes, rules := storeID(t, s, "User Preferences"), storeID(t, s, "日本語")
	body, err := json.Marshal(object{
		"agent": object{"type": "agent", "id": "agent_1", "version": 3}, "environment_id": "env_1", "title": "t",
		"metadata": object{"k": "v"}, "vault_ids": []string{},
		"resources": []object{
			{"type": "memory_store", "memory_store_id": notes, "instructions": "look here first"},
			{"type": "memory_store", "memory_store_id": rules, "access": "read_only"},
		},
	})
	require.NoError(t, err)
	made := try(t, s, anAPIKey, "POST", "/v1/sessions", string(body)).ok(t)
	require.Regexp(t, "^sesn_", made["id"])
	require.Equal(t, "session", made["type"])
	require.Equal(t, "env_1", made["environment_id"])
	require.Equal(t, "idle", made["status"])
	require.Nil(t, made["archived_at"])
	require.Equal(t, "agent_1", made["agent"].(object)["id"])
	require.Equal(t, []any{}, made["agent"].(object)["skills"])
	require.Equal(t, []any{
		object{"type": "memory_store", "memory_store_id": notes, "access": "read_write", "name": "User Preferences",
			"description": "about User Preferences", "instructions": "look here first", "mount_path": "/mnt/memory/user-preferences"},
		object{"type": "memory_store", "memory_store_id": rules, "access": "read_only", "name": "日本語",
			"description": "about 日本語", "instructions": nil, "mount_path": "/mnt/memory/" + rules},
	}, made["resources"])

	ask(t, s, "POST", "/v1/memory_stores/"+notes, `{"name":"renamed"}`).ok(t)
	ask(t, s, "POST", "/v1/memory_stores/"+notes+"/archive", "").ok(t)
	path := "/v1/sessions/" + made["id"].(string)
	for _, key := range []string{anAPIKey, s.EnvironmentKey()} {
		require.Equal(t, made, try(t, s, key, "GET", path, "").ok(t), "stores are as they were at the start")
	}
	try(t, s, anAPIKey, "GET", path+"x", "").require(t, 404, "not_found_error")
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"User Preferences": "user-preferences", "a  --  b": "a-b", " padded! ": "padded", "Ärzte": "rzte", "../etc": "etc", "...": "id",
	} {
		require.Equal(t, want, slug(storeObject{ID: "id", Name: name}), name)
	}
}

func TestMountPaths(t *testing.T) {
	s := open(t, t.TempDir(), Options{MountRoot: "/elsewhere"})
	odd, none := "relative/../path", ""
	x := startSession(t, s, Attachment{Store: storeID(t, s, "A b")},
		Attachment{Store: storeID(t, s, "c"), MountPath: &odd}, Attachment{Store: storeID(t, s, "d"), MountPath: &none})
	require.Equal(t, "/elsewhere/a-b", *x.resources[0].MountPath)
	require.Equal(t, odd, *x.resources[1].MountPath)
	require.Nil(t, x.resources[2].MountPath)
}

func TestRefusedSessions(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var ids []string
	for i := range maxStores + 1 {
		ids = append(ids, storeID(t, s, fmt.Sprint("store ", i)))
	}
	archived := storeID(t, s, "archived")
	ask(t, s, "POST", "/v1/memory_stores/"+archived+"/archive", "").ok(t)
	attach := func(more string, ids ...string) string {
		var resources []string
		for _, id := range ids {
			resources = append(resources, fmt.Sprintf(`{"type":"memory_store","memory_store_id":%q%s}`, id, more))
		}
		return `{"agent":"a","environment_id":"e","resources":[` + strings.Join(resources, ",") + `]}`
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"eight stores":          {attach("", ids[:8]...), 200},
		"nine stores":           {attach("", ids...), 400},
		"an archived store":     {attach("", archived), 400},
		"an unknown store":      {attach("", "memstore_none"), 404},
		"a store twice":         {attach("", ids[0], ids[0]), 400},
		"read only":             {attach(`,"access":"read_only"`, ids[0]), 200},
		"null access":           {attach(`,"access":null`, ids[0]), 200},
		"an unknown access":     {attach(`,"access":"write_only"`, ids[0]), 400},
		"a mount path":          {attach(`,"mount_path":"/x"`, ids[0]), 400},
		"long instructions":     {attach(`,"instructions":"`+strings.Repeat("é", 4097)+`"`, ids[0]), 400},
		"full instructions":     {attach(`,"instructions":"`+strings.Repeat("é", 4096)+`"`, ids[0]), 200},
		"a file":                {`{"agent":"a","environment_id":"e","resources":[{"type":"file"}]}`, 400},
		"no agent":              {`{"environment_id":"e"}`, 400},
		"an agent without id":   {`{"environment_id":"e","agent":{}}`, 400},
		"no environment":        {`{"agent":"a"}`, 400},
		"an unknown name":       {`{"agent":"a","environment_id":"e","x":1}`, 400},
		"a script without tool": {`{"agent":"a","environment_id":"e","memfs_script":{"calls":[{}]}}`, 400},
		"an unknown end":        {`{"agent":"a","environment_id":"e","memfs_script":{"end":"x"}}`, 400},
		"a first message":       {`{"agent":"a","environment_id":"e","initial_events":[{"type":"user.message","content":[]}]}`, 200},
		"an unknown event":      {`{"agent":"a","environment_id":"e","initial_events":[{"type":"agent.message"}]}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			a := try(t, s, anAPIKey, "POST", "/v1/sessions", c.body)
			require.Equal(t, c.status, a.status, a.text)
		})
	}
	_, err := s.StartSession(t.Context(), SessionSpec{Stores: []Attachment{{Store: archived}}})
	require.ErrorIs(t, err, store.ErrArchived)
}

func TestSessionList(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	st := storeID(t, s, "shared")
	var newestFirst []string
	for i := range 5 {
		var stores []Attachment
		if i%2 == 0 {
			stores = []Attachment{{Store: st}}
		}
		newestFirst = append([]string{startSession(t, s, stores...).ID()}, newestFirst...)
	}
	list := func(query string) (ids []string) {
		for next := ""; ; {
			o := try(t, s, anAPIKey, "GET", "/v1/sessions?limit=2&page="+next+query, "").ok(t)
			for _, x := range o["data"].([]any) {
				ids = append(ids, x.(object)["id"].(string))
			}
			if o["next_page"] == nil {
				return ids
			}
			next = o["next_page"].(string)
		}
	}
	require.Equal(t, newestFirst, list(""))
	require.Equal(t, []string{newestFirst[0], newestFirst[2], newestFirst[4]}, list("&memory_store_id="+st))

	archived := try(t, s, anAPIKey, "POST", "/v1/sessions/"+newestFirst[1]+"/archive", "").ok(t)
	require.Equal(t, "terminated", archived["status"])
	require.NotNil(t, archived["archived_at"])
	require.Equal(t, archived, try(t, s, anAPIKey, "POST", "/v1/sessions/"+newestFirst[1]+"/archive", "").ok(t))
	require.NotContains(t, list(""), newestFirst[1])
	require.Equal(t, newestFirst, list("&include_archived=true"))
	require.Equal(t, archived, try(t, s, anAPIKey, "GET", "/v1/sessions/"+newestFirst[1], "").ok(t), "ended sessions stay readable")
}
