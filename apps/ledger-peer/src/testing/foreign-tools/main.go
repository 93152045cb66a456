// Reads and checks a log with third-party libraries only. Usage: foreign-tools <url> <origin> <vkey> <proof> <size>
// Prints the number of entries read; exits with 1 if a check fails.
// Usage: foreign-tools policy <url of a log> <policy>...: its checkpoint must satisfy one of the policies (C2SP tlog-policy).
// Prints origin and size.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func checkPolicies(url string, files []string) {
	var policies []torchwood.Policy
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		policy, err := torchwood.ParsePolicy(text)
		check(err)
		policies = append(policies, policy)
	}
	fetcher, err := torchwood.NewTileFetcher(url)
	check(err)
	signed, err := fetcher.ReadEndpoint(context.Background(), "checkpoint")
	check(err)
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, torchwood.ThresholdPolicy(1, policies...))
	check(err)
	fmt.Println(checkpoint.Origin, checkpoint.N)
}

func main() {
	if os.Args[1] == "policy" {
		checkPolicies(os.Args[2], os.Args[3:])
		return
	}
	url, origin, proofFile := os.Args[1], os.Args[2], os.Args[4]
	atLeast, err := strconv.ParseInt(os.Args[5], 10, 64)
	check(err)
	ctx := context.Background()
	verifier, err := note.NewVerifier(os.Args[3])
	check(err)
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(origin), torchwood.SingleVerifierPolicy(verifier))

	fetcher, err := torchwood.NewTileFetcher(url)
	check(err)
	signed, err := fetcher.ReadEndpoint(ctx, "checkpoint")
	check(err)
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	check(err)
	formatted, _, _, err := log.ParseCheckpoint(signed, origin, verifier)
	check(err)
	if formatted.Size != uint64(checkpoint.N) || checkpoint.N < atLeast {
		check(fmt.Errorf("the checkpoint covers %d entries, and %d are wanted", checkpoint.N, atLeast))
	}

	client, err := torchwood.NewClient(fetcher)
	check(err)
	var read int64
	var hashes stored
	for index, entry := range client.AllEntries(ctx, checkpoint.Tree, 0) {
		if index != read || !strings.Contains(string(entry), `"v":1}`) {
			check(fmt.Errorf("entry %d is not one of ours", index))
		}
		more, err := tlog.StoredHashes(index, entry, hashes)
		check(err)
		hashes = append(hashes, more...)
		read++
	}
	check(client.Err())
	root, err := tlog.TreeHash(read, hashes)
	check(err)
	if read != checkpoint.N || root != checkpoint.Hash {
		check(fmt.Errorf("%d entries do not hash to the signed root", read))
	}

	proof, err := os.ReadFile(proofFile)
	check(err)
	entry, err := torchwood.ProofExtraData(proof)
	check(err)
	check(torchwood.VerifyProof(policy, tlog.RecordHash(entry), proof))
	fmt.Println(read)
}

type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	read := make([]tlog.Hash, len(indexes))
	for at, index := range indexes {
		read[at] = s[index]
	}
	return read, nil
}
