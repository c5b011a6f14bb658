package processor

// This file counts visitors and clicks by day.

import (
	"cmp"
	"context"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// countTraffic counts events that were stored now: each visitor once a day and stage,
// whatever was stored before. Of a copy that replaces a stored one, what the other showed
// stays counted.
func (a *application) countTraffic(ctx context.Context, f following) error {
	if len(f.clicks) > 0 {
		if err := a.tx.AddClicks(ctx, a.company, f.clicks); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(f.shoppers, maxShoppers) {
		if err := a.countShoppers(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// maxShoppers is how many visitors' days are read and written together. A batch has about
// one for each event, but an event may name facts.Event.Stage's number of items.
const maxShoppers = 5000

func (a *application) countShoppers(ctx context.Context, shoppers []facts.Shopper) error {
	known, err := a.tx.InsertShoppers(ctx, a.company, shoppers)
	if err != nil {
		return err
	}
	stored := map[facts.ShopperKey]facts.Stage{}
	if len(known) > 0 {
		if stored, err = a.tx.Shoppers(ctx, a.company, known); err != nil {
			return err
		}
	}
	var put []facts.Shopper // that are known, and have come further
	type of struct{ day, of string }
	traffic := map[of]*facts.Traffic{}
	for _, s := range shoppers {
		added := s.Stages &^ stored[s.ShopperKey]
		if added == 0 {
			continue
		}
		if stored[s.ShopperKey] != 0 {
			put = append(put, s)
		}
		sum := traffic[of{s.Day, s.Of}]
		if sum == nil {
			sum = &facts.Traffic{Day: s.Day, Of: s.Of}
			traffic[of{s.Day, s.Of}] = sum
		}
		for i, stage := range facts.Stages {
			if added&stage != 0 {
				sum.Visitors[i]++
			}
		}
	}
	if len(traffic) == 0 {
		return nil
	}
	if len(put) > 0 {
		if err := a.tx.PutShoppers(ctx, a.company, put); err != nil {
			return err
		}
	}
	sums := make([]facts.Traffic, 0, len(traffic))
	for _, sum := range traffic {
		sums = append(sums, *sum)
	}
	slices.SortFunc(sums, func(x, y facts.Traffic) int { return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Of, y.Of)) })
	return a.tx.AddTraffic(ctx, a.company, sums)
}
