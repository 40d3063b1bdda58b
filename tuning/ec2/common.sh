# shellcheck shell=bash disable=SC2034 # the variables are for those that source this file
# Shared by up, measure and down. For bash 3.2 and BSD tools, which a Mac has.
set -euo pipefail

ec2=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=lab
region=
dry_run=
yes=
consumed=0

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
misused() { say "$* (see --help)"; exit 2; }

# A flag that all three know, and how many words it takes, in $consumed.
common_flag() {
  consumed=1
  case $1 in
    --name | --region)
      [ $# -ge 2 ] || misused "$1: expected a value, got none"
      if [ "$1" = --name ]; then name=$2; else region=$2; fi
      consumed=2
      ;;
    --dry-run) dry_run=1 ;;
    --yes) yes=1 ;;
    --help | -h) usage; exit 0 ;;
    *) misused "expected a flag of this command, got $1" ;;
  esac
}

# Sets $state, the folder for this name's keys, and the region: a flag, that of `up`, or that of the aws command line.
open_state() {
  case $name in
    [a-z]*) ;;
    *) misused "--name: expected lower-case letters, digits and single hyphens, starting with a letter, got $name" ;;
  esac
  case $name in
    *[!a-z0-9-]* | *--* | *- | ????????????????????????????????*)
      misused "--name: expected at most 31 lower-case letters, digits and single hyphens, got $name" ;;
  esac
  state=${REDLINE_EC2_STATE:-$HOME/.redline-ec2}/$name
  [ -n "$region" ] || [ ! -r "$state/region" ] || region=$(cat "$state/region")
  [ -n "$region" ] || region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region 2>/dev/null || true)}}
}

# "ACCOUNT REGION" in which the machines of this name were made, as far as that is known.
made_in() { { cat "$state/account" "$state/region" 2>/dev/null || true; } | paste -sd ' ' -; }

# Whether that is here.
made_here() {
  case $(made_in) in
    '' | "$account $region" | "$region") ;;
    *) return 1 ;;
  esac
}

# Refuses to go on without the aws command line, a region and an account.
open_account() {
  command -v aws >/dev/null || die 'expected the aws command line on PATH: brew install awscli, or pip install awscli'
  [ -n "$region" ] || die 'expected a region, got none: --region us-east-1, or aws configure'
  export AWS_REGION=$region AWS_DEFAULT_REGION=$region AWS_PAGER=
  account=$(aws sts get-caller-identity --query Account --output text) ||
    die 'expected credentials that AWS accepts (error above): aws configure, or aws sso login'
}

# The words as one line that a shell reads back.
quoted() {
  local word line=
  for word in "$@"; do
    case $word in
      '' | *[!a-zA-Z0-9_./:=@%+,-]*) word="'$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'" ;;
    esac
    line="$line $word"
  done
  printf '%s\n' "${line# }"
}

# Runs a command; --dry-run prints it.
change() { if [ -n "$dry_run" ]; then quoted "$@"; else "$@"; fi; }
# Like change, but discards the command's output.
quietly() { if [ -n "$dry_run" ]; then quoted "$@"; else "$@" >/dev/null; fi; }

confirm() {
  [ -z "$yes$dry_run" ] || return 0
  [ -t 0 ] || die "expected --yes where nobody can answer: $1"
  local answer
  read -r -p "$1 [y/N] " answer
  [ "$answer" = y ] || [ "$answer" = Y ] || die 'Nothing was changed.'
}

# USD of an entry of prices.json; nothing where it has none.
price() { sed -n "s/^ *\"$1\": { \"usd\": \([0-9.]*\),.*/\1/p" "$ec2/prices.json"; }

# What carries the tag redline=$name: each prints its ids, one a line.
ids() { tr '\t' '\n' | sed '/^None$/d;/^$/d'; }
LIVE='Name=instance-state-name,Values=pending,running,stopping,stopped'
instances() { aws ec2 describe-instances --filters "Name=tag:redline,Values=$name" "$LIVE" --query 'Reservations[].Instances[].InstanceId' --output text | ids; }
volumes() { aws ec2 describe-volumes --filters "Name=tag:redline,Values=$name" --query 'Volumes[].VolumeId' --output text | ids; }
addresses() { aws ec2 describe-addresses --filters "Name=tag:redline,Values=$name" --query 'Addresses[].AllocationId' --output text | ids; }
groups() { aws ec2 describe-security-groups --filters "Name=tag:redline,Values=$name" --query 'SecurityGroups[].GroupId' --output text | ids; }
key_pairs() { aws ec2 describe-key-pairs --filters "Name=tag:redline,Values=$name" --query 'KeyPairs[].KeyName' --output text | ids; }
databases() {
  aws rds describe-db-instances --output text \
    --query "DBInstances[?TagList[?Key=='redline' && Value=='$name']].DBInstanceIdentifier" | ids
}
# The availability zones of the machines and the database.
zones() {
  aws ec2 describe-instances --filters "Name=tag:redline,Values=$name" "$LIVE" --query 'Reservations[].Instances[].Placement.AvailabilityZone' --output text | ids &&
    aws rds describe-db-instances --output text \
      --query "DBInstances[?TagList[?Key=='redline' && Value=='$name']].AvailabilityZone" | ids
}
