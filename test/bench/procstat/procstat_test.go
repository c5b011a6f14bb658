package procstat

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestAChildsTimeCountsWhileItRunsAndAfterItHasEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: there is no /proc")
	}
	own, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before, err := TreeCPU(os.Getpid())
	if err != nil || before < own {
		t.Fatalf("the tree has %v, its root %v, %v", before, own, err)
	}
	// A loop of the shell's own: it takes well over a hundredth of a second.
	child := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo; read x")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	of, err := CPU(child.Process.Pid)
	if err != nil || of == 0 {
		t.Fatalf("the child took %v, %v", of, err)
	}
	f := func(what string) {
		t.Helper()
		if now, err := TreeCPU(os.Getpid()); err != nil || now < before+of {
			t.Errorf("%s: %v, before %v and the child %v, %v", what, now, before, of, err)
		}
	}
	f("while it runs")
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // read ends with 1
	f("after it has ended")
	if bytes, err := PSS(os.Getpid()); err != nil || bytes <= 0 {
		t.Errorf("memory: %d, %v", bytes, err)
	}
}
