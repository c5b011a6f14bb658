package capacity

import "time"

// FittedStores are the stores of the loads that the model was fitted to.
const FittedStores = 24

// reference is one of the loads that the model was fitted to. By it is measured how long a transaction takes.
func reference() Load {
	return Load{Name: "reference", Stores: FittedStores, Visits: 1000, Requests: 2, Events: 5, Text: 100, OrderOf: 5, ClickOf: 5,
		Over: 45 * time.Second, Represents: 3 * time.Hour}
}

// Fitted are the loads that the model was fitted to: each differs from the first in one thing.
func Fitted() []Load {
	base := reference()
	base.Name, base.OrderOf, base.ClickOf = "base", 0, 0
	one := func(name string, change func(*Load)) Load {
		l := base
		l.Name = name
		change(&l)
		return l
	}
	return []Load{
		one("nothing comes", func(l *Load) { l.Visits = 0 }),
		base,
		one("more requests", func(l *Load) { l.Requests, l.Events = 5, 2 }),
		one("more visits", func(l *Load) { l.Visits, l.Requests = 2000, 1 }),
		one("orders", func(l *Load) { l.OrderOf = 1 }),
		one("clicks", func(l *Load) { l.ClickOf = 1 }),
		one("stores", func(l *Load) { l.Stores = 6 }),
		reference(),
		one("more events", func(l *Load) { l.Events = 20 }),
		one("larger events", func(l *Load) { l.Text = 800 }),
	}
}
