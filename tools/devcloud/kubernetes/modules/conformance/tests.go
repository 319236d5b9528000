// Package conformance names the package of tests, since only programs can be tools.
package conformance

import _ "k8s.io/kubernetes/test/e2e"
