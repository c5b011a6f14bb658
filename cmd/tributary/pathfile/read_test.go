package pathfile

import (
	"fmt"
	"strings"
	"testing"
)

// short writes paths as "a>b:conversions/null/value", in the units of the file.
func short(p *Paths) string {
	var lines []string
	for _, path := range p.List {
		var names []string
		for _, c := range path.Channels {
			names = append(names, p.Channels[c])
		}
		lines = append(lines, fmt.Sprintf("%s:%v/%v/%v", strings.Join(names, ">"), path.Conversions, path.Null, path.Value))
	}
	return fmt.Sprintf("%s e-%d e-%d", strings.Join(lines, " "), p.ConversionDigits, p.ValueDigits)
}

const header = "path,total_conversions,total_conversion_value,total_null\n"

func TestFilesOfPathsAreRead(t *testing.T) {
	f := func(file, want string) {
		t.Helper()
		p, err := Read(strings.NewReader(file))
		if err != nil {
			t.Errorf("%q: %v", file, err)
			return
		}
		if got := short(p); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
	f(header+"a > b > c,1,2,3\n", "a>b>c:1/3/2 e-0 e-0")
	f(header+"a>b  >  c ,1,2,3", "a>b>c:1/3/2 e-0 e-0") // blanks, and no end of line
	f("\ufeff"+header+"a,1,2,3\r\nb,0,0,1\r\n", "a:1/3/2 b:0/1/0 e-0 e-0")
	f("\n\n"+header+"\na,1,2,3\n\n", "a:1/3/2 e-0 e-0")
	f(header+"\"a, b > \"\"c\"\"\",\"1\",2,3\n", "a, b>\"c\":1/3/2 e-0 e-0")
	f("total_null;total_conversions;path\n3;1;a > b\n", "a>b:1/3/0 e-0 e-0")
	f("path\ttotal_conversions\na, b\t2\n", "a, b:2/0/0 e-0 e-0")
	f("path,total_conversions\na > a,\n", "a>a:0/0/0 e-0 e-0")
	f("path,total_conversion_value,total_cost,values\na,2,x,y\n", "a:0/0/2 e-0 e-0") // others are ignored
	f(header, " e-0 e-0")
	f(" Path , TOTAL_CONVERSIONS,campaign,campaign\nx,1,?,?\n", "x:1/0/0 e-0 e-0")
	f(header+"a,,,\n", "a:0/0/0 e-0 e-0") // empty numbers
	// Decimals, as programs write floats.
	f(header+"a,1.50,0.30000000000000004,1\nb,1e3,1.5E-2,+2\nc,.5,5.551115123125783e-17,0\n",
		"a:150/100/30000000000000004000000000000000 b:100000/200/1500000000000000000000000000000 c:50/0/5551115123125783 e-2 e-32")
	f(header+"ação > 直接 > (Direct),1,2,3\n", "ação>直接>(Direct):1/3/2 e-0 e-0")
}

func TestBadFilesAreRefusedWithTheirPlace(t *testing.T) {
	f := func(file, want string) {
		t.Helper()
		_, err := Read(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.80q: %v, want %q", file, err, want)
		}
	}
	f("", "the file is empty")
	f("\n\n", "the file is empty")
	f("a > b,1,2,3\n", `line 1: no column is called path, only "a > b", "1", "2", "3"`)
	f(strings.Repeat("x,", 5000)+"x\n", "no column is called path")
	f("path\na\n", `line 1: no column is called total_conversions or total_conversion_value, only "path": without both all results are 0`)
	f("path,total_null,source\na,1,x\n",
		`line 1: no column is called total_conversions or total_conversion_value, only "path", "total_null", "source"`)
	f("path,total_conversion\na,1\n", `line 1: the column "total_conversion" is not known: is it total_conversions?`)
	f("path,Total Conversions\na,1\n", `line 1: the column "total conversions" is not known: is it total_conversions?`)
	f("path,conversions,null\na,1,2\n", `line 1: the column "conversions" is not known: is it total_conversions?`)
	f("path,total_conversions,conversion_value\na,1,2\n", `line 1: the column "conversion_value" is not known: is it total_conversion_value?`)
	f("path,total_conversions,Value\na,1,2\n", `line 1: the column "value" is not known: is it total_conversion_value?`)
	f("path,total_conversions,total_nulls\na,1,2\n", `line 1: the column "total_nulls" is not known: is it total_null?`)
	f("path,total_null,path\na,1,b\n", "line 1: the column path is there twice")
	f("path,total_conversions,total_conversions\na,1,2\n", "line 1: the column total_conversions is there twice")
	f(header+"a,1,2,3\nb,1,2\n", "line 3: 3 columns, but the first line has 4")
	f(header+"a,1,2,3,4\n", "line 2: 5 columns, but the first line has 4")
	f(header+"a,1,2,3\n,1,2,3\n", "line 3, column path: the path is empty")
	f(header+" ,1,2,3\n", "line 2, column path: the path is empty")
	f(header+">,1,2,3\n", "line 2, column path: touch 1 of the path has no channel")
	f(header+"a > > b,1,2,3\n", "line 2, column path: touch 2 of the path has no channel")
	f(header+"a > b >,1,2,3\n", "line 2, column path: touch 3 of the path has no channel")
	f(header+"a\xe9,1,2,3\n", "line 2, column path: the path is not UTF-8")
	f(header+"a\x1b[31m > b,1,2,3\n", "line 2, column path: touch 1 of the path has a character that cannot be shown")
	f(header+"\"a\nb\",1,2,3\n", "line 2, column path: touch 1 of the path has a character")
	f(header+"a,-1,2,3\n", `line 2, column total_conversions: "-1" is negative`)
	f(header+"a,1,-0.01,3\n", `line 2, column total_conversion_value: "-0.01" is negative`)
	f(header+"a,1,2,x\n", `line 2, column total_null: "x" is not a number`)
	f(header+"a,1,R$ 2,3\n", `line 2, column total_conversion_value: "R$ 2" is not a number`)
	// With semicolons and tabs a comma is the decimal one.
	for _, text := range []string{"path;total_conversion_value\na;1234,5\n", "path;total_conversion_value\na;1.234,50\n",
		"path\ttotal_conversion_value\na\t1234,5\n"} {
		if got, err := Read(strings.NewReader(text)); err != nil || short(got) != "a:0/0/12345 e-0 e-1" && short(got) != "a:0/0/123450 e-0 e-2" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	f(header+"a,1,\"1,234.50\",3\n", "decimals after a point, or separate the columns by semicolons")
	f("path;total_conversion_value\na;1,5,0\n", "is not a number")
	f("path;total_conversion_value\na;1.23,5\n", "is not a number")
	f("path;total_conversion_value\na;1,234.5\n", "is not a number")
	f(header+"a,NaN,2,3\n", `"NaN" is not a number`)
	f(header+"a,Inf,2,3\n", `"Inf" is not a number`)
	f(header+"a,0x10,2,3\n", `"0x10" is not a number`)
	f(header+"a,1e999999999,2,3\n", "is not a number")
	f(header+"a,1e31,2,3\n", "has too many digits")
	f(header+"a,1e-61,2,3\n", "has too many digits")
	f(header+"a,"+strings.Repeat("9", 100)+",2,3\n", "is too long for a number")
	f(header+"\"a,1,2,3\n", "line 2")
	f(header+"a\"b,1,2,3\n", "line 2, character 2: bare \" in non-quoted-field")
	f("\xff\xfep\x00a\x00t\x00h\x00", "save it as CSV in UTF-8")
	f(header+"a"+strings.Repeat(" > a", MaxTouches)+",1,2,3\n", "line 2, column path: the path has more than 1000 touches")
	var many strings.Builder
	for i := range MaxChannels + 1 {
		fmt.Fprintf(&many, "c%d,1,2,3\n", i)
	}
	f(header+many.String(), "line 502, column path: more than 500 channels")
	f(header+strings.Repeat("a,1,2,3\n", MaxPaths+1), "line 1000002: more than 1000000 paths")
	f(header+"a,1,2,3\n\""+strings.Repeat("x\n", maxLineBytes), "a line has more than 1048576 bytes")
	f(strings.Repeat("a", 2*maxLineBytes), "after line 0: a line has more than 1048576 bytes")
	f("\n\nx\n", "line 3: no column is called path")
	f(header+strings.Repeat("a", 2*maxLineBytes), "a line has more than 1048576 bytes")
}
