package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	yaml "go.yaml.in/yaml/v3"
)

func deployFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "deploy"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// takes says what is wrong with a command's variables: names that it does not read, values that it does not take, and
// those that it requires and does not have. A secret may be given itself instead of by a file.
func takes(cmd *cobra.Command, env map[string]string) (wrong []string) {
	known := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := environmentName(f.Name)
		secret := strings.TrimSuffix(name, "_FILE")
		known[name], known[secret] = true, true
		_, given := env[name]
		_, itself := env[secret]
		if strings.Contains(f.Usage, "(required)") && !given && !itself {
			wrong = append(wrong, cmd.Name()+" does not get "+name)
		}
	})
	for name := range env {
		if !known[name] {
			wrong = append(wrong, cmd.Name()+" does not read "+name)
		}
	}
	err := readEnvironment(cmd.Flags(), func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	slices.Sort(wrong)
	return wrong
}

func deployed(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := newRoot().Find([]string{name})
	if err != nil || cmd.Name() != name {
		t.Fatalf("there is no command %s: %v", name, err)
	}
	return cmd
}

// Each unit has its own user, and of secrets and settings what its service needs: an edge has no database's password.
func TestTheUnitsSettingsAreThoseOfTheServices(t *testing.T) {
	variable := regexp.MustCompile(`(?m)^#?(TRIBUTARY_[A-Z_]+)=(.*)$`)
	files := map[string]string{"edge": "kafka", "admin": "kafka postgres", "processor": "kafka postgres", "connect": "postgres"}
	secrets := map[string]string{"edge": "hashing", "admin": "hashing token", "connect": "connect.key"}
	for service := range files {
		unit := deployFile(t, "systemd", "tributary-"+service+".service")
		values := func(key string) (all []string) {
			for _, m := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(unit, -1) {
				all = append(all, m[1])
			}
			return all
		}
		starts := []string{"tributary-" + service, "/usr/bin/tributary " + service}
		if got := values("(?:ExecStart|User)"); !slices.Equal(got, starts) {
			t.Errorf("the unit of %s starts %q, want %q", service, got, starts)
		}
		cmd, env := deployed(t, service), map[string]string{}
		for _, pair := range values("Environment") {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		for _, name := range strings.Fields(secrets[service]) {
			if !slices.Contains(slices.Collect(maps.Values(env)), "%d/"+name) {
				t.Errorf("%s does not read its credential %s", service, name)
			}
		}
		var loaded, read []string
		for _, pair := range values("LoadCredential") {
			name, path, _ := strings.Cut(pair, ":")
			if loaded = append(loaded, name); path != "/etc/tributary/"+name {
				t.Errorf("%s: the credential %s is %s", service, name, path)
			}
		}
		if got := strings.Join(loaded, " "); got != secrets[service] {
			t.Errorf("%s has the credentials %q, want %q", service, got, secrets[service])
		}
		for _, path := range values("EnvironmentFile") {
			name := strings.TrimSuffix(strings.TrimPrefix(path, "/etc/tributary/"), ".env")
			read = append(read, name)
			for _, m := range variable.FindAllStringSubmatch(deployFile(t, "systemd", name+".env"), -1) {
				if strings.HasPrefix(m[2], "/etc/") {
					t.Errorf("%s.env: %s is a file that only root can read", name, m[1])
				}
				env[m[1]] = m[2]
			}
		}
		if got, want := strings.Join(read, " "), files[service]+" "+service; got != want {
			t.Errorf("%s reads the settings %q, want %q", service, got, want)
		}
		for _, wrong := range takes(cmd, env) {
			t.Error(wrong)
		}
	}
	wrong := takes(deployed(t, "edge"), map[string]string{"TRIBUTARY_NO_SUCH_FLAG": "1", "TRIBUTARY_SPOOL_BYTES": "many"})
	if len(wrong) != 3 {
		t.Errorf("a wrong name, a wrong value and no secret: %q", wrong)
	}
}

func TestComposesSettingsAreThoseOfTheServices(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image       string            `yaml:"image"`
			Command     []string          `yaml:"command"`
			Environment map[string]string `yaml:"environment"`
			Volumes     []string          `yaml:"volumes"`
			Healthcheck struct {
				Test []string `yaml:"test"`
			} `yaml:"healthcheck"`
		} `yaml:"services"`
		Configs map[string]struct {
			Content string `yaml:"content"`
		} `yaml:"configs"`
	}
	if err := yaml.Unmarshal([]byte(deployFile(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile(`\$\{[A-Z_]+(?::[-?]([^}]*))?\}`)
	var own []string
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		service := file.Services[name]
		for variable, value := range service.Environment {
			service.Environment[variable] = chosen.ReplaceAllString(value, "$1")
		}
		if !strings.Contains(service.Image, "/tributary:") || name == "cli" { // which may run any command
			continue
		}
		own = append(own, name)
		for _, wrong := range takes(deployed(t, service.Command[0]), service.Environment) {
			t.Errorf("%s: %s", name, wrong)
		}
		if name == "migrate" { // which ends
			continue
		}
		if want := []string{"CMD", "/tributary", "health"}; !slices.Equal(service.Healthcheck.Test, want) {
			t.Errorf("%s is checked by %q, want %q", name, service.Healthcheck.Test, want)
		}
		// In its environment the check needs no flag.
		asked := healthFlags{addr: service.Environment["TRIBUTARY_ADDR"], internal: service.Environment["TRIBUTARY_INTERNAL_ADDR"]}
		port := map[string]string{"edge": "7710", "admin": "7711", "processor": "7703", "connect": "7714"}[name]
		if url, err := asked.url(); url != "http://127.0.0.1:"+port+"/readyz" {
			t.Errorf("%s is asked at %q: %v", name, url, err)
		}
	}
	if want := []string{"admin", "connect", "edge", "migrate", "processor"}; !slices.Equal(own, want) {
		t.Errorf("services of Tributary: %v, want %v", own, want)
	}
	// Doctor asks for what migrate made, and the cli makes the key where connect reads it.
	shared := map[string][]string{"migrate": {"TRIBUTARY_KAFKA_BROKERS", "TRIBUTARY_POSTGRES", "TRIBUTARY_REPLICATION",
		"TRIBUTARY_MIN_INSYNC_REPLICAS"}, "connect": {"TRIBUTARY_CONNECT_KEY_FILE"}}
	for name, variables := range shared {
		for _, variable := range variables {
			value := file.Services[name].Environment[variable]
			if got := file.Services["cli"].Environment[variable]; got != value || value == "" {
				t.Errorf("%s: %s has %q, and cli %q", variable, name, value, got)
			}
		}
	}
	if cli, connect := file.Services["cli"].Volumes, file.Services["connect"].Volumes; len(cli) != 1 || !slices.Equal(cli, connect) {
		t.Errorf("cli has the volumes %v, and connect %v", cli, connect)
	}
	var scraped struct {
		Jobs []struct {
			Name string `yaml:"job_name"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(file.Configs["prometheus"].Content), &scraped); err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for _, job := range scraped.Jobs {
		jobs = append(jobs, job.Name)
	}
	if want := []string{"tributary-edge", "tributary-admin", "tributary-processor", "tributary-connect"}; !slices.Equal(jobs, want) {
		t.Errorf("Prometheus has the jobs %v, want %v", jobs, want)
	}
}

// The chart is rendered and read strictly by `make release`; here only what it sets is looked up.
func TestTheChartsVariablesAreRead(t *testing.T) {
	known := map[string]bool{}
	for _, name := range []string{"edge", "admin", "processor", "connect", "migrate", "doctor"} {
		deployed(t, name).Flags().VisitAll(func(f *pflag.Flag) {
			known[environmentName(f.Name)] = true
			known[strings.TrimSuffix(environmentName(f.Name), "_FILE")] = true
		})
	}
	var set []string
	for _, file := range []string{"_helpers.tpl", "services.yaml", "jobs.yaml"} {
		for _, m := range regexp.MustCompile(`name: (TRIBUTARY_[A-Z_]+)`).FindAllStringSubmatch(deployFile(t, "helm", "templates", file), -1) {
			set = append(set, m[1])
			if !known[m[1]] {
				t.Errorf("%s sets %s, which no command reads", file, m[1])
			}
		}
	}
	if len(set) < 20 {
		t.Errorf("the chart sets only %v", set)
	}
}
