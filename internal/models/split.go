package models

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
)

// Split divides minor units by weights, by the largest remainder. Of equal
// remainders the earlier gets the unit. The sum of the parts is the total. A weight
// is not negative, and at least one is above zero.
func Split(total int64, weights []*big.Int) []int64 {
	amount := big.NewInt(total)
	parts := make([]int64, len(weights))
	for i, part := range Divide(amount.Abs(amount), weights) {
		parts[i] = part.Int64()
		if total < 0 {
			parts[i] = -parts[i]
		}
	}
	return parts
}

// Divide is Split for a total of any size that is not negative.
func Divide(total *big.Int, weights []*big.Int) []*big.Int {
	whole := sum(weights)
	parts, remainders, order := zeros(len(weights)), zeros(len(weights)), make([]int, len(weights))
	left := new(big.Int).Set(total)
	for i, weight := range weights {
		parts[i].QuoRem(parts[i].Mul(total, weight), whole, remainders[i])
		left.Sub(left, parts[i])
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(remainders[b].Cmp(remainders[a]), cmp.Compare(a, b))
	})
	one := big.NewInt(1)
	for i := range left.Int64() { // less than the number of weights
		parts[order[i]].Add(parts[order[i]], one)
	}
	return parts
}

// Portions returns each weight's part of their sum as a decimal between 0 and 1
// with six decimal places, halves rounded up. At least one weight is above zero.
func Portions(weights []*big.Int) []string {
	whole := sum(weights)
	twice, million := new(big.Int).Lsh(whole, 1), big.NewInt(2*1_000_000)
	part := new(big.Int)
	list := make([]string, len(weights))
	for i, weight := range weights {
		part.Quo(part.Add(part.Mul(weight, million), whole), twice)
		list[i] = fmt.Sprintf("%d.%06d", part.Int64()/1_000_000, part.Int64()%1_000_000)
	}
	return list
}
