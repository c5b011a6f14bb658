package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// pinned is an image by its digest, or an action by its commit.
var pinned = regexp.MustCompile(`^[a-z/-]+(:[a-z0-9.-]+@sha256:[0-9a-f]{64}|@[0-9a-f]{40})$`)

// Compose's own reader takes the file by its schema, with all variables set and no others.
func TestComposeReadsItsFile(t *testing.T) {
	load := func(env ...string) ([]string, error) {
		options, err := cli.NewProjectOptions([]string{filepath.Join(root, "deploy", "compose.yaml")}, cli.WithEnv(env),
			cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true))
		if err != nil {
			return nil, err
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			return nil, err
		}
		for name, service := range project.Services {
			if !strings.Contains(service.Image, "tributary-io/") {
				if !pinned.MatchString(service.Image) {
					t.Errorf("%s: the image %s has no digest", name, service.Image)
				}
				continue
			}
			if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) ||
				!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("%s may write to its root or gain rights", name)
			}
		}
		for name, service := range project.Services {
			for _, mount := range service.Volumes {
				if mount.Type == "bind" {
					if _, err := os.Stat(mount.Source); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		return project.ServiceNames(), nil
	}
	all := []string{"TRIBUTARY_VERSION=0.1.0", "POSTGRES_PASSWORD=p", "TRIBUTARY_HASHING_SECRET=h", "TRIBUTARY_TOKEN_SECRET=t",
		"GRAFANA_PASSWORD=g"}
	names, err := load(all...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	want := []string{"admin", "cli", "connect", "edge", "grafana", "kafka", "migrate", "postgres", "processor", "prometheus"}
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	for i := range all {
		if _, err := load(slices.Delete(slices.Clone(all), i, i+1)...); err == nil {
			t.Errorf("without %s nothing is said", all[i])
		}
	}
}

// helm runs the pinned Helm on the chart.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	args = append([]string{"tool", "-modfile=.ci/helm.mod", "helm"}, args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG=/dev/null")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	return string(out) + problems.String(), err
}

// documented are the values that docs/operations.md installs the chart with.
func documented() []string {
	text, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		panic(err)
	}
	_, command, _ := strings.Cut(string(text), "\nhelm install tributary tributary-0.1.0.tgz ")
	command, _, _ = strings.Cut(command, "\nhelm ")
	return strings.Fields(strings.NewReplacer("'", "", "\\\n", "").Replace(command))
}

var (
	least = documented()
	most  = append(slices.Clone(least),
		"--set", "connect.enabled=true,connect.contact=it@example.com,connect.publicUrl=https://connect.example.com",
		"--set", "kafka.tls=true,kafka.sasl=SCRAM-SHA-512,kafka.username=trb,topicPrefix=staging.",
		"--set", "edge.autoscaling.enabled=true,admin.autoscaling.enabled=true",
		"--set", "processor.autoscaling.enabled=true,connect.autoscaling.enabled=true",
		"--set", "edge.ingress.enabled=true,edge.ingress.host=collect.example.com,edge.ingress.className=nginx,edge.ingress.tlsSecret=tls",
		"--set", "admin.ingress.enabled=true,admin.ingress.host=painel.example.com,trustedProxies={10.0.0.0/8},edge.storage.className=fast",
		"--set", "edge.extraEnv.TRIBUTARY_LOG_LEVEL=debug,serviceMonitor.enabled=true,imagePullSecrets[0].name=pull",
		"--set", "rotating.hashing=true,rotating.token=true,rotating.nuvemshop=true,extraEnv.TRIBUTARY_KAFKA_TLS_CA=/kafka-ca/ca.crt",
		"--set", "extraVolumes[0].name=kafka-ca,extraVolumes[0].secret.secretName=ca",
		"--set", "extraVolumeMounts[0].name=kafka-ca,extraVolumeMounts[0].mountPath=/kafka-ca,migrate.replication=5",
		"--set-string", "connect.nuvemshopAppId=12")
)

// What the chart renders is read strictly by Kubernetes' own types: a field that they do not have is an error.
func TestTheChartRendersWhatKubernetesReads(t *testing.T) {
	if out, err := helm(t, append([]string{"lint", "--strict", "deploy/helm"}, least...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packed := found(t, "tributary-[0-9]*.tgz")
	if out, err := helm(t, "show", "chart", packed); err != nil || strings.Count(out, "ersion: "+thisRelease(t).number()+"\n") != 2 {
		t.Errorf("%s: %v\n%s", packed, err, out)
	}
	for name, settings := range map[string][]string{"least": least, "most": most} {
		args := append([]string{"template", "tributary", "deploy/helm", "--namespace", "shop", "--kube-version", "1.34.0"}, settings...)
		out, err := helm(t, args...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		count := map[string]int{}
		for _, text := range documents(t, out) {
			kind, pod := decode(t, text)
			count[kind]++
			if kind == "Job" && (!strings.Contains(string(text), "key: owner}") ||
				!strings.Contains(string(text), `{name: TRIBUTARY_GRANT, value: "trb_services"}`)) {
				t.Errorf("%s: services have another role than the one that migrates, and no rights\n%s", name, text)
			}
			if pod != nil {
				checkPod(t, kind, pod)
				all := name == "most"
				checkSettings(t, pod, all)
			}
			if kind == "HorizontalPodAutoscaler" &&
				strings.Contains(string(text), "StatefulSet") != strings.Contains(string(text), "selectPolicy: Disabled") {
				t.Errorf("edges, and no others, are never made fewer:\n%s", text)
			}
		}
		want := map[string]int{"Deployment": 2, "StatefulSet": 1, "Service": 3, "PodDisruptionBudget": 3, "Job": 1, "Pod": 1}
		if name == "most" {
			want = map[string]int{"Deployment": 3, "StatefulSet": 1, "Service": 4, "PodDisruptionBudget": 4, "Job": 1, "Pod": 1,
				"HorizontalPodAutoscaler": 4, "Ingress": 2, "ServiceMonitor": 4}
		}
		for kind, n := range want {
			if count[kind] != n {
				t.Errorf("%s: %d %s, want %d", name, count[kind], kind, n)
			}
			delete(count, kind)
		}
		if len(count) > 0 {
			t.Errorf("%s: also %v", name, count)
		}
	}
}

func TestTheChartRefusesWrongValues(t *testing.T) {
	for _, wrong := range []string{
		"kafka.brokers={kafka}", "admin.shortBase=https://go.example.com", "edge.replcas=3", "existingSecret=", "edge.shutdownDelay=10",
		"connect.enabled=true", "edge.ingress.enabled=true", "edge.extraEnv.PATH=/", "processor.terminationGracePeriodSeconds=5",
		"rotating.connect=true", "extraEnv.PATH=/", "edge.autoscaling.min=0",
	} {
		out, err := helm(t, append(append([]string{"template", "tributary", "deploy/helm"}, least...), "--set", wrong)...)
		if err == nil || !strings.Contains(out, "schema") {
			t.Errorf("--set %s: %v\n%.300s", wrong, err, out)
		}
	}
}

func documents(t *testing.T, rendered string) (texts [][]byte) {
	t.Helper()
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(rendered)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			texts = append(texts, text)
		}
	}
}

// decode reads a manifest by the type of its kind, and returns its pods' template, if it has one.
func decode(t *testing.T, text []byte) (kind string, pod *corev1.PodSpec) {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := strict.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	var (
		deployment appsv1.Deployment
		set        appsv1.StatefulSet
		job        batchv1.Job
		one        corev1.Pod
	)
	into := map[string]struct {
		object any
		pod    *corev1.PodSpec
	}{
		"apps/v1 Deployment":                     {&deployment, &deployment.Spec.Template.Spec},
		"apps/v1 StatefulSet":                    {&set, &set.Spec.Template.Spec},
		"batch/v1 Job":                           {&job, &job.Spec.Template.Spec},
		"v1 Pod":                                 {&one, &one.Spec},
		"v1 Service":                             {&corev1.Service{}, nil},
		"policy/v1 PodDisruptionBudget":          {&policyv1.PodDisruptionBudget{}, nil},
		"autoscaling/v2 HorizontalPodAutoscaler": {&autoscalingv2.HorizontalPodAutoscaler{}, nil},
		"networking.k8s.io/v1 Ingress":           {&networkingv1.Ingress{}, nil},
		// A type of an operator's, which is no part of Kubernetes.
		"monitoring.coreos.com/v1 ServiceMonitor": {&map[string]any{}, nil},
	}
	as, known := into[head.APIVersion+" "+head.Kind]
	if !known {
		t.Errorf("a manifest of another kind: %s %s", head.APIVersion, head.Kind)
		return head.Kind, nil
	}
	if err := strict.UnmarshalStrict(text, as.object, strict.DisallowUnknownFields); err != nil {
		t.Errorf("%s: %v\n%s", head.Kind, err, text)
	}
	return head.Kind, as.pod
}

// checkPod holds what Kubernetes calls its restricted standard, and what a service needs to be replaced in peace.
func checkPod(t *testing.T, kind string, pod *corev1.PodSpec) {
	t.Helper()
	if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil ||
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: the pod may run as root or call what it likes", kind)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: the pod gets a token of the cluster", kind)
	}
	for _, c := range pod.Containers {
		if s := c.SecurityContext; s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.Capabilities == nil ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s %s: the container has rights that it does not need", kind, c.Name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s %s: resources are not bounded", kind, c.Name)
		}
		if kind != "Deployment" && kind != "StatefulSet" {
			continue
		}
		ready := "/readyz"
		if c.Name == "processor" { // a halted partition is no reason to keep a new version from it
			ready = "/healthz"
		}
		if c.StartupProbe == nil || c.LivenessProbe == nil || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != ready {
			t.Errorf("%s %s: probes are missing", kind, c.Name)
		}
		if len(pod.TopologySpreadConstraints) != 2 || pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 30 {
			t.Errorf("%s %s: %v, %v", kind, c.Name, pod.TopologySpreadConstraints, pod.TerminationGracePeriodSeconds)
		}
	}
}

// checkSettings holds what pods get of the values for all: copies of a record that migrate and doctor agree on, and, where
// everything is set, the former secrets and a mounted certificate.
func checkSettings(t *testing.T, pod *corev1.PodSpec, all bool) {
	t.Helper()
	c, env := pod.Containers[0], map[string]string{}
	for _, variable := range c.Env {
		if _, twice := env[variable.Name]; twice {
			t.Errorf("%s has %s twice", c.Name, variable.Name)
		}
		env[variable.Name] = variable.Value
	}
	copies := map[bool]string{false: "3", true: "5"}[all]
	if job := c.Name == "migrate" || c.Name == "doctor"; job && (env["TRIBUTARY_REPLICATION"] != copies ||
		env["TRIBUTARY_MIN_INSYNC_REPLICAS"] != "2" || env["TRIBUTARY_LOG_FORMAT"] != "") {
		t.Errorf("%s: %v", c.Name, env)
	}
	want := map[string]bool{"TRIBUTARY_KAFKA_TLS_CA": all}
	for _, name := range []string{"TRIBUTARY_PREVIOUS_HASHING_SECRET_FILE", "TRIBUTARY_PREVIOUS_TOKEN_SECRET_FILE",
		"TRIBUTARY_NUVEMSHOP_APP_SECRET_FILE", "TRIBUTARY_PREVIOUS_NUVEMSHOP_APP_SECRET_FILE", "TRIBUTARY_PREVIOUS_HASHING_SECRET"} {
		who := map[string][]string{"TRIBUTARY_PREVIOUS_HASHING_SECRET_FILE": {"edge", "admin"},
			"TRIBUTARY_PREVIOUS_TOKEN_SECRET_FILE": {"admin"}, "TRIBUTARY_NUVEMSHOP_APP_SECRET_FILE": {"connect"},
			"TRIBUTARY_PREVIOUS_NUVEMSHOP_APP_SECRET_FILE": {"connect"},
			"TRIBUTARY_PREVIOUS_HASHING_SECRET":            {"doctor"}}[name]
		want[name] = all && slices.Contains(who, c.Name)
	}
	for name, wanted := range want {
		if _, has := env[name]; has != wanted {
			t.Errorf("%s has %s: %v, want %v", c.Name, name, has, wanted)
		}
	}
	mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/kafka-ca" })
	volume := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "kafka-ca" })
	if mounted != all || volume != all {
		t.Errorf("%s: the certificate is mounted: %v, %v", c.Name, mounted, volume)
	}
	for variable, path := range env { // each file of a secret is one that the pod has
		file, secret := strings.CutPrefix(path, "/secrets/")
		if secret && !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Secret != nil && slices.ContainsFunc(v.Secret.Items, func(k corev1.KeyToPath) bool { return k.Path == file })
		}) {
			t.Errorf("%s: %s is %s, which is not mounted", c.Name, variable, path)
		}
	}
}

// The workflow that releases on a public forge is one that its runner reads.
func TestTheWorkflowIsOne(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=.ci/actionlint.mod", "actionlint", "-shellcheck=",
		"-pyflakes=", ".github/workflows/release.yml")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// What is published was made by a job without privileges, and tested by another.
	var workflow struct {
		Jobs map[string]struct {
			Container   struct{ Image, Options string }
			Permissions map[string]string
			Needs       any
			Steps       []struct{ Uses, Run string }
		}
	}
	if err := strict.Unmarshal([]byte(read(t, filepath.Join(root, ".github", "workflows", "release.yml"))), &workflow); err != nil {
		t.Fatal(err)
	}
	for name, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s uses %s, which is no commit", name, step.Uses)
			}
		}
		if job.Container.Image != "" && !pinned.MatchString(job.Container.Image) {
			t.Errorf("%s: the container %s has no digest", name, job.Container.Image)
		}
		uploads := slices.ContainsFunc(job.Steps, func(s struct{ Uses, Run string }) bool { return strings.Contains(s.Uses, "upload-artifact") })
		if privileged := strings.Contains(job.Container.Options, "privileged"); privileged != (name == "test") || uploads != (name == "build") {
			t.Errorf("%s: privileged %v, uploads %v", name, privileged, uploads)
		}
	}
	if needs, _ := workflow.Jobs["publish"].Needs.([]any); len(needs) != 2 {
		t.Errorf("publish needs %v", needs)
	}
}
