package stats

import (
	"math"
	"slices"
	"testing"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"none", nil, Summary{}},
		{"one", []float64{4}, Summary{1, 4, 4, 4}},
		{"odd, unsorted", []float64{9, 1, 5}, Summary{3, 5, 1, 9}},
		{"even: the mean of the middle two", []float64{8, 1, 4, 2}, Summary{4, 3, 1, 8}},
		{"an outlier moves the maximum only", []float64{1, 1, 1, 1, 900}, Summary{5, 1, 1, 900}},
	} {
		before := slices.Clone(c.values)
		if got := Summarise(c.values); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("%s: the values were changed", c.name)
		}
	}
}

// Over as many rounds as contenders, each runs in each place once.
func TestRotatedIsBalanced(t *testing.T) {
	const n = 5
	var seen [n][n]bool
	for round := range n {
		for place, who := range Rotated(n, round) {
			if seen[who][place] {
				t.Fatalf("%d runs twice in place %d", who, place)
			}
			seen[who][place] = true
		}
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		q      float64
		want   float64
	}{
		{"one value is every quantile", []float64{7}, 0.9, 7},
		{"the least", []float64{3, 1, 2}, 0, 1},
		{"the largest", []float64{3, 1, 2}, 1, 3},
		{"on a value", []float64{5, 1, 2, 4, 3}, 0.75, 4},
		{"between two", []float64{10, 20}, 0.9, 19},
	} {
		if got := Quantile(c.values, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v, want NaN", got)
	}
}

func TestGeoMean(t *testing.T) {
	if got := GeoMean([]float64{2, 0.5, 1, 8, 1}); math.Abs(got-math.Pow(8, 0.2)) > 1e-12 {
		t.Errorf("got %v, want the fifth root of 8", got)
	}
	if got := GeoMean(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v, want NaN", got)
	}
}
