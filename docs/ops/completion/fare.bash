# SPDX-License-Identifier: BSD-2-Clause
# Completion for farectl, farelab, farebench and fared. Commands and options come from each program's own --help, so that they
# are those of the installed version; peers and planes come from the daemon that runs here, labs from farelab.

# _fare_words PROGRAM [ARG...]: what PROGRAM ARG... --help lists: options, and the first words of commands
_fare_words() {
	"$@" --help 2>/dev/null | awk -v program="$1" '
		$1 == "usage:" && $2 == program && $3 ~ /^[a-z]/ { print $3 }
		/^ +[a-z]/ && $1 == program && $2 ~ /^[a-z]/ { print $2 }
		/^  [a-z]/ && $1 != program { sub(/,$/, "", $1); print $1 }
		{ while (match($0, /--[a-z][a-z-]*/)) { print substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }' | sort -u
}

# _fare_second FIRST: the words that farectl knows after FIRST (show planes, show peers, ...)
_fare_second() {
	farectl --help 2>/dev/null | awk -v first="$1" '/^  [a-z]/ && $1 == first && $2 ~ /^[a-z]/ { split($2, w, "|"); print w[1] }'
}

_fare_peers() {
	farectl -j show peers 2>/dev/null | grep -oE '"peer": *"[^"]*"' | cut -d'"' -f4
}

_fare_planes() {
	farectl -j show planes 2>/dev/null | grep -oE '"plane": *[0-9]+' | grep -oE '[0-9]+' | sort -un
}

_fare_labs() {
	farelab list 2>/dev/null | awk '{ print $1 }'
}

# _fare_begin: the words of the line, the one under the cursor, the option whose value it is, the command, and how many words
# follow that, options and their values left out. bash splits words at colons, which addresses have: bash-completion, where it is, puts them together again.
_fare_begin() {
	local i
	words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} command='' n_after=0 last='' option=''
	! type _get_comp_words_by_ref >/dev/null 2>&1 || _get_comp_words_by_ref -n : cur words cword
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-s | --socket-dir | -g | --gpu | -C | --count | -w | --wait | -i | --interval | -r | --rounds | -c | --confirm | \
			-S | --since | -t | --topic | -l | --level | -p | --plane | -f | --config)
			[ $((i + 1)) -lt "$cword" ] || option=${words[i]}
			i=$((i + 1))
			;;
		-*) ;;
		*)
			if [ -z "$command" ]; then command=${words[i]}; else n_after=$((n_after + 1)); fi
			last=${words[i]}
			;;
		esac
	done
}

_fare_reply() { # WORDS
	COMPREPLY=($(compgen -W "$1" -- "$cur"))
	! type __ltrim_colon_completions >/dev/null 2>&1 || __ltrim_colon_completions "$cur"
}

_fare_files() {
	COMPREPLY=($(compgen -f -- "$cur"))
}

_farectl() {
	local words cword cur command n_after last option
	_fare_begin
	case $option in
	-s | --socket-dir) _fare_files; return ;;
	-t | --topic) _fare_reply "path link source probe bandwidth peer drain config daemon"; return ;;
	-l | --level) _fare_reply "err warning notice info debug"; return ;;
	-p | --plane) _fare_reply "$(_fare_planes)"; return ;;
	?*) return ;;
	esac
	case $cur in
	-*) _fare_reply "$(_fare_words farectl | grep ^-)"; return ;;
	esac
	case $command,$n_after in
	,*) _fare_reply "$(_fare_words farectl)" ;;
	show,0) _fare_reply "$(_fare_second show)" ;;
	why,0 | trace,0) _fare_reply "$(_fare_peers)" ;;
	show,1) [ "$last" != paths ] || _fare_reply "$(_fare_peers)" ;;
	drain,0 | undrain,0) _fare_reply "all $(_fare_second "$command") $(_fare_peers)" ;;
	why,1 | trace,1 | drain,1 | undrain,1 | show,2) _fare_reply "$(_fare_planes)" ;;
	esac
}

_farelab() {
	local words cword cur command n_after last option
	_fare_begin
	case ${words[cword - 1]} in
	--frr | --fared) _fare_files; return ;;
	esac
	case $command,$n_after in
	,*) _fare_reply "$(_fare_words farelab)" ;;
	up,0 | run,0) _fare_files ;;
	down,0 | status,0 | exec,0 | fail,0 | heal,0 | gray,0 | rate,0 | throttle,0 | reload,0 | ecn,0 | drill,0 | vtysh,0) _fare_reply "$(_fare_labs)" ;;
	fail,1 | heal,1) _fare_reply "subport plane uplink leaf spine bgpd zebra fared" ;;
	gray,1) _fare_reply "leaf subport uplink" ;;
	rate,1) _fare_reply "subport all" ;;
	throttle,1) _fare_reply "subport uplink" ;;
	*) case $cur in -*) _fare_reply "$(_fare_words farelab)" ;; esac ;;
	esac
}

_farebench() {
	local words cword cur command n_after last option
	_fare_begin
	case $command in
	'') _fare_reply "$(_fare_words farebench)" ;;
	*) _fare_reply "$(_fare_words farebench "$command" | grep ^-)" ;;
	esac
}

_fared() {
	local words cword cur command n_after last option
	_fare_begin
	case ${words[cword - 1]} in
	-c | --config | -r | --run-dir) _fare_files ;;
	*) case $cur in -* | '') _fare_reply "$(_fare_words fared | grep ^-)" ;; esac ;;
	esac
}

complete -F _farectl farectl
complete -F _farelab farelab
complete -F _farebench farebench
_fared_exporter() {
	local words cword cur command n_after last option
	_fare_begin
	_fare_reply "$(_fare_words fared-exporter | grep ^-)"
}

complete -o default -F _fared fared
complete -F _fared_exporter fared-exporter
