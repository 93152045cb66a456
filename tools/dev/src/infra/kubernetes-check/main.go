// Command kubernetes-check strictly decodes the manifests on standard input with Kubernetes' own types, and evaluates their
// pods against the level "restricted" of Pod Security admission. It prints a line for each fault, and "skipped <kind>" for
// custom resources; nothing else.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func podOf(object runtime.Object) *corev1.PodTemplateSpec {
	switch of := object.(type) {
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: of.ObjectMeta, Spec: of.Spec}
	case *appsv1.Deployment:
		return &of.Spec.Template
	case *appsv1.StatefulSet:
		return &of.Spec.Template
	case *batchv1.Job:
		return &of.Spec.Template
	case *batchv1.CronJob:
		return &of.Spec.JobTemplate.Spec.Template
	}
	return nil
}

func main() {
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		object, kind, err := decoder.Decode(text, nil, nil)
		if kind != nil && runtime.IsNotRegisteredError(err) {
			fmt.Println("skipped", kind.Kind)
			continue
		}
		if runtime.IsMissingKind(err) {
			continue // A document with only comments.
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		if pod := podOf(object); pod != nil {
			for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					fmt.Println(kind.Kind, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	}
}
