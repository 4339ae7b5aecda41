// Package stats holds the few statistics that the benchmarks report.
package stats

import (
	"math"
	"slices"
)

// A Summary describes repeated measurements of one quantity, in its unit.
type Summary struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise returns the zero Summary for no values. It does not change them.
func Summarise(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Summary{N: len(sorted), Median: quantile(sorted, 0.5), Min: sorted[0], Max: sorted[len(sorted)-1]}
}

// Median returns the middle of the values, NaN for none. It does not change them.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which a share q, from 0 to 1, of the values
// lies: linear between neighbours, so that 0 gives the least and 1 the largest
// (type 7 of Hyndman and Fan, 1996). It is NaN for no values and does not change
// them.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return quantile(slices.Sorted(slices.Values(values)), q)
}

func quantile(sorted []float64, q float64) float64 {
	place := q * float64(len(sorted)-1)
	below := int(place)
	if below >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below])
}

// GeoMean returns the geometric mean of values above 0, the mean for ratios:
// twice as slow and twice as fast cancel out. It is NaN for no values.
func GeoMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// Rotated returns 0..n-1 beginning at the round's own number, so that over the
// rounds each contender runs in each place, and none always after the same
// disturbance of the machine.
func Rotated(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + round) % n
	}
	return order
}
