package metrics

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// SessionLabel tells apart what processes say that serve a session each.
const SessionLabel = "session"

// wire is how one process gives its metrics to another.
const wire = expfmt.FmtProtoDelim

// Encode is what this process counted, for another one's Include.
func (m *Metrics) Encode() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	to := expfmt.NewEncoder(&b, wire)
	for _, f := range families {
		if err := to.Encode(f); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Label has id as the session on everything that is served.
func (m *Metrics) Label(id string) { m.session.Store(&id) }

// Include has what sessions returns, the encoded metrics of other processes by
// session, among those that are served. It is called for each request.
func (m *Metrics) Include(sessions func() map[string][]byte) {
	m.gatherers = append(m.gatherers, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		var all prometheus.Gatherers
		for id, text := range sessions() {
			all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
				families, err := decode(text)
				label(families, id)
				return families, err
			}))
		}
		return all.Gather()
	}))
}

func decode(text []byte) ([]*dto.MetricFamily, error) {
	from := expfmt.NewDecoder(bytes.NewReader(text), wire)
	var families []*dto.MetricFamily
	for {
		f := new(dto.MetricFamily)
		err := from.Decode(f)
		switch {
		case errors.Is(err, io.EOF):
			return families, nil
		case err != nil:
			return families, err
		}
		families = append(families, f)
	}
}

// label adds the session to every metric of families.
func label(families []*dto.MetricFamily, id string) {
	name := SessionLabel
	for _, f := range families {
		for _, metric := range f.Metric {
			metric.Label = append(metric.Label, &dto.LabelPair{Name: &name, Value: &id})
			slices.SortFunc(metric.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
	}
}
