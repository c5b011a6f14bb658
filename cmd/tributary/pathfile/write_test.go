package pathfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func computed(t *testing.T, file string) []Row {
	t.Helper()
	p, err := Read(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return p.Credits()
}

// The published case of Markov, and a direct touch.
func TestCreditsAreWrittenAsCSV(t *testing.T) {
	var out bytes.Buffer
	if err := WriteCSV(&out, computed(t, header+"a > direct,1,50.00,0\na,0,0,1\n\"x, y\",0.5,0,2\n")); err != nil {
		t.Fatal(err)
	}
	const want = `channel,model,conversions,value
a,first,1.0000000000,50.0000000000
a,last,0.0000000000,0.0000000000
a,last_non_direct,1.0000000000,50.0000000000
a,linear,0.5000000000,25.0000000000
a,position,0.5000000000,25.0000000000
a,time_decay,0.4752649512,23.7632475591
a,markov,0.6000000000,25.0000000000
a,shapley,0.5000000000,25.0000000000
direct,first,0.0000000000,0.0000000000
direct,last,1.0000000000,50.0000000000
direct,last_non_direct,0.0000000000,0.0000000000
direct,linear,0.5000000000,25.0000000000
direct,position,0.5000000000,25.0000000000
direct,time_decay,0.5247350488,26.2367524409
direct,markov,0.6000000000,25.0000000000
direct,shapley,0.5000000000,25.0000000000
"x, y",first,0.5000000000,0.0000000000
"x, y",last,0.5000000000,0.0000000000
"x, y",last_non_direct,0.5000000000,0.0000000000
"x, y",linear,0.5000000000,0.0000000000
"x, y",position,0.5000000000,0.0000000000
"x, y",time_decay,0.5000000000,0.0000000000
"x, y",markov,0.3000000000,0.0000000000
"x, y",shapley,0.5000000000,0.0000000000
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func TestCreditsAreWrittenAsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, computed(t, header+"a & b,1,0.3,0\n")); err != nil {
		t.Fatal(err)
	}
	var rows []Row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil || len(rows) != 8 ||
		rows[0] != (Row{"a & b", "first", "1.0000000000", "0.3000000000"}) {
		t.Errorf("%v, %v of\n%s", err, rows, out.String())
	}
	out.Reset()
	if err := WriteJSON(&out, nil); err != nil || json.Unmarshal(out.Bytes(), &rows) != nil {
		t.Errorf("no rows: %q", out.String())
	}
}

// Amounts beyond what a float64 holds keep every digit.
func TestNoDigitIsLost(t *testing.T) {
	rows := computed(t, header+"a > b,1,98765432109876543210.0123456789,0\n")
	if rows[3].Value != "49382716054938271605.0061728395" || rows[0].Value != "98765432109876543210.0123456789" {
		t.Errorf("%v", rows)
	}
}

func BenchmarkAFileOfPaths(b *testing.B) {
	for _, size := range []struct{ paths, channels int }{{10_000, 12}, {1_000_000, 20}} {
		r := rand.New(rand.NewPCG(1, 1))
		var file strings.Builder
		file.WriteString(header)
		for range size.paths {
			var touches []string
			for range 1 + r.IntN(9) {
				touches = append(touches, fmt.Sprint("channel ", r.IntN(size.channels)))
			}
			fmt.Fprintf(&file, "%s,%d,%d.%02d,%d\n", strings.Join(touches, " > "), r.IntN(5), r.IntN(1000), r.IntN(100), r.IntN(50))
		}
		b.Run(fmt.Sprintf("%d_paths_of_%d_channels", size.paths, size.channels), func(b *testing.B) {
			for b.Loop() {
				p, err := Read(strings.NewReader(file.String()))
				if err != nil {
					b.Fatal(err)
				}
				p.Credits()
			}
		})
	}
}
