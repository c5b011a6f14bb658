package processor

// This file counts visitors and clicks by day.

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// countTraffic counts events that were stored now: each visitor once a day and stage,
// whatever was stored before. Of a copy that replaces a stored one, what the other showed
// stays counted.
func countTraffic(ctx context.Context, store Traffic, company string, shoppers []facts.Shopper, clicks []facts.Clicks) error {
	if len(clicks) > 0 {
		if err := store.AddClicks(ctx, company, clicks); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(shoppers, maxShoppers) {
		if err := countShoppers(ctx, store, company, chunk); err != nil {
			return err
		}
	}
	return nil
}

// maxShoppers is how many visitors' days are read and written together. A batch has about
// one for each event, but an event may name facts.Event.Stage's number of items.
const maxShoppers = 5000

// maxItemsOfDay is for how many items of a day visitors are counted that are not in the
// catalogue: more than most shops have, and what is counted is kept for good. All further
// ones are counted as one, facts.OfItem("").
const maxItemsOfDay = 10_000

// boundItems returns the visitors' days with all items for which a day has no room as one.
func boundItems(ctx context.Context, store Traffic, company string, shoppers []facts.Shopper) ([]facts.Shopper, error) {
	asked := map[facts.ShopperKey]bool{} // without visitors
	for _, s := range shoppers {
		if s.IsItem() {
			asked[facts.ShopperKey{Day: s.Day, Subject: s.Subject}] = true
		}
	}
	if len(asked) == 0 {
		return shoppers, nil
	}
	beyond, err := store.ItemsBeyond(ctx, company, slices.SortedFunc(maps.Keys(asked), facts.ShopperKey.Compare), maxItemsOfDay)
	if err != nil || len(beyond) == 0 {
		return shoppers, err
	}
	left := map[facts.ShopperKey]bool{}
	for _, k := range beyond {
		left[k] = true
	}
	stages := map[facts.ShopperKey]facts.Stage{}
	for _, s := range shoppers {
		if left[facts.ShopperKey{Day: s.Day, Subject: s.Subject}] {
			s.Subject = facts.OfItem("")
		}
		stages[s.ShopperKey] |= s.Stages
	}
	bounded := make([]facts.Shopper, 0, len(stages))
	for _, k := range slices.SortedFunc(maps.Keys(stages), facts.ShopperKey.Compare) {
		bounded = append(bounded, facts.Shopper{ShopperKey: k, Stages: stages[k]})
	}
	return bounded, nil
}

func countShoppers(ctx context.Context, store Traffic, company string, shoppers []facts.Shopper) error {
	shoppers, err := boundItems(ctx, store, company, shoppers)
	if err != nil {
		return err
	}
	stored, err := store.InsertShoppers(ctx, company, shoppers)
	if err != nil {
		return err
	}
	var put []facts.Shopper // that are known, and have come further
	type daySubject struct{ day, subject string }
	traffic := map[daySubject]*facts.Traffic{}
	for _, s := range shoppers {
		added := s.Stages &^ stored[s.ShopperKey]
		if added == 0 {
			continue
		}
		if stored[s.ShopperKey] != 0 {
			put = append(put, s)
		}
		sum := traffic[daySubject{s.Day, s.Subject}]
		if sum == nil {
			sum = &facts.Traffic{Day: s.Day, Subject: s.Subject}
			traffic[daySubject{s.Day, s.Subject}] = sum
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
		if err := store.PutShoppers(ctx, company, put); err != nil {
			return err
		}
	}
	sums := make([]facts.Traffic, 0, len(traffic))
	for _, sum := range traffic {
		sums = append(sums, *sum)
	}
	slices.SortFunc(sums, func(x, y facts.Traffic) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Subject, y.Subject))
	})
	return store.AddTraffic(ctx, company, sums)
}
