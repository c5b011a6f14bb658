//go:build browsers

package sdkjs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/devtest"
)

// The same page on a machine of a quarter of the speed, with the SDK and without: no long task of it
// is the SDK's. The browser slows a page down by stopping its thread for three quarters of
// the time, by the clock: so this needs a machine that is not too busy.
func TestLongTasksWithAndWithoutTheSDK(t *testing.T) {
	const loads, throttle = 5, 4
	e := newEdge(t, build(t))
	b := devtest.Browser(t)
	// What a shop does itself, a long task of layout.
	work := `<body><ul></ul><script>
		for (let i = 0; i < 2000; i++) { const li = document.createElement("li"); li.textContent = "Product " + i;
			document.querySelector("ul").append(li) }
		</script>`
	s := shop(t, map[string]string{
		"/bare": work,
		"/with": stub() + e.tag(`data-company="loja" data-linger="0" data-worker="true"`) + work +
			`<script>for (let i = 0; i < 20; i++) tributary.track("NOTE_" + i, {n: i})</script>`,
	})
	var bare, with, ours, hit int
	for range loads {
		n, _, _ := longTasks(t, b, s.URL+"/bare", throttle)
		bare += n
		n, of, runs := longTasks(t, b, s.URL+"/with", throttle)
		with += n
		ours += of
		hit += min(of, 1)
		if runs == 0 {
			t.Fatal("the trace has no run of the SDK's code")
		}
	}
	t.Logf("%d loads: %d long tasks without the SDK, %d with it, %d of them the SDK's", loads, bare, with, ours)
	if n := e.seen().copies("NOTE_19"); n != loads {
		t.Errorf("%d of %d loads sent their events", n, loads)
	}
	if bare == 0 {
		t.Error("the page's own long task is not seen")
	}
	// The browser waits by the clock, within the task's CPU time: on a busy machine a task is long
	// now and then. One of the SDK's own would be long in each load.
	if hit > loads/2 {
		t.Errorf("%d long tasks are the SDK's, in %d of %d loads", ours, hit, loads)
	}
}

// span is a piece of a thread's work; times are in microseconds, cpu is that thread's own.
type span struct{ from, to, cpu float64 }

// longTasks opens a page, throttled, and counts the tasks of its main thread that take 50 ms
// (https://www.w3.org/TR/longtasks-1/) or more, those of which the SDK's code takes half, and the runs
// of that code. It waits until the second file, the worker and recovery (three seconds after
// the start) have had their turn.
func longTasks(t *testing.T, b *rod.Browser, url string, throttle float64) (long, ours, runs int) {
	t.Helper()
	page := b.MustPage("")
	defer page.MustClose()
	if err := (proto.EmulationSetCPUThrottlingRate{Rate: throttle}).Call(page); err != nil {
		t.Fatal(err)
	}
	tasks, code := map[string][]span{}, map[string][]span{} // by thread
	done := make(chan struct{})
	wait := page.EachEvent(func(collected *proto.TracingDataCollected) {
		for _, event := range collected.Value {
			thread := fmt.Sprint(event["pid"], " ", event["tid"])
			at := span{event["ts"].Num(), event["ts"].Num() + event["dur"].Num(), event["tdur"].Num()}
			switch event["name"].Str() {
			case "RunTask", "ThreadControllerImpl::RunTask":
				tasks[thread] = append(tasks[thread], at)
			case "EvaluateScript", "FunctionCall", "TimerFire", "v8.compile":
				if data := event["args"].Get("data"); strings.Contains(data.Get("url").Str(), "/sdk/v1/") {
					code[thread] = append(code[thread], at)
				}
			}
		}
	}, func(*proto.TracingTracingComplete) bool { return true })
	go func() {
		defer close(done)
		wait()
	}()
	if err := (proto.TracingStart{TransferMode: proto.TracingStartTransferModeReportEvents, TraceConfig: &proto.TracingTraceConfig{
		IncludedCategories: []string{"disabled-by-default-devtools.timeline", "devtools.timeline", "v8"}, ExcludedCategories: []string{"*"},
	}}).Call(page); err != nil {
		t.Fatal(err)
	}
	page.MustNavigate(url).MustWaitLoad()
	page.MustEval(`() => new Promise((done) => setTimeout(done, 3500 - performance.now()))`)
	if err := (proto.TracingEnd{}).Call(page); err != nil {
		t.Fatal(err)
	}
	<-done
	const limit = 50_000
	for thread, all := range tasks {
		runs += len(code[thread])
		for _, task := range all {
			if task.cpu < limit {
				continue
			}
			long++
			of := 0.0
			for _, run := range code[thread] {
				if task.from <= run.from && run.to <= task.to {
					of += run.cpu // runs within runs count twice: never too few
				}
			}
			if of >= task.cpu/2 {
				ours++
				t.Logf("a long task of the SDK: %.0f ms of CPU, %.0f of them its code", task.cpu/1000, of/1000)
			}
		}
	}
	return long, ours, runs
}
