package platforms

import (
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/fakes"
)

// A folder of connect with an order.go is a platform, and is in the list under the folder's name.
func TestEveryPlatformIsInTheList(t *testing.T) {
	var listed, folders []string
	for _, p := range All() {
		listed = append(listed, p.Offer().Name)
		if folder := path.Base(reflect.Indirect(reflect.ValueOf(p)).Type().PkgPath()); folder != p.Offer().Name {
			t.Errorf("%s is in the folder %s", p.Offer().Name, folder)
		}
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		files, err := os.ReadDir(path.Join("..", entry.Name()))
		if err != nil {
			continue // a file
		}
		product, isPlatform := 0, false
		for _, file := range files {
			if strings.HasSuffix(file.Name(), ".go") && !strings.HasSuffix(file.Name(), "_test.go") {
				product++
				isPlatform = isPlatform || file.Name() == "order.go"
			}
		}
		if isPlatform {
			folders = append(folders, entry.Name())
			if product > 5 {
				t.Errorf("%s has %d files: a platform has five at most", entry.Name(), product)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(folders)
	if len(folders) == 0 || !slices.Equal(listed, folders) {
		t.Errorf("listed %v, folders %v", listed, folders)
	}
}

// What a merchant pastes is taken by the patterns of its platform's fields: dashboard and command line know no more of them.
func TestWhatAMerchantPastesIsTaken(t *testing.T) {
	for _, p := range All() {
		offer := p.Offer()
		fake, err := fakes.Start(t.Context(), fakes.Options{Platform: offer.Name})
		if err != nil {
			t.Fatal(err)
		}
		pasted, _ := fakes.Pasted(fake)
		fake.Close()
		for _, field := range offer.Fields {
			whole, err := regexp.Compile("^(?:" + field.Pattern + ")$")
			if err != nil || !whole.MatchString(pasted[field.Name]) {
				t.Errorf("%s: %s does not take what its merchant pastes: %v", offer.Name, field.Name, err)
			}
		}
	}
}
