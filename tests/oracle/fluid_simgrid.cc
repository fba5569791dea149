/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_simgrid.cc - completion times of `farebench run fluid` beside SimGrid's.
 *
 * Owns: the simulation. In: files of instances (link CAPACITY_BPS, flow WEIGHT BYTES TX RX, done
 * SECONDS for each flow, end SECONDS), one or more in each, over the same links; out: the largest
 * relative differences, of any flow's completion time and of the last one's, as text and JSON. Exit
 * status 1: a difference above the limit, or no instance.
 *
 * A flow of weight w stands for w flows that share it evenly, and is simulated as that many:
 * SimGrid's own weights come from latencies, of which there are none here. The network model is
 * plain max-min: CM02 without TCP's window bound and without cross traffic of acknowledgements.
 * Every file has a process of its own, because a process can have one simulation.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

namespace sg = simgrid::s4u;

struct flow {
	unsigned count;
	uint64_t bytes; /* of each */
	size_t tx, rx;
	double done_s;
};

struct instance {
	std::vector<flow> flows;
	double end_s;
};

struct file {
	std::vector<double> links;
	std::vector<instance> instances;
};

[[noreturn]] static void refuse(const std::string &path, unsigned line)
{
	fprintf(stderr, "fluid_simgrid: %s:%u: not an instance that can be simulated\n",
		path.c_str(), line);
	exit(1);
}

static flow read_flow(std::istringstream &words, size_t links, const std::string &path,
		      unsigned line)
{
	double weight, bytes;
	flow f;

	if (!(words >> weight >> bytes >> f.tx >> f.rx) || f.tx >= links || f.rx >= links)
		refuse(path, line);
	f.done_s = 0;
	f.count = static_cast<unsigned>(weight);
	f.bytes = f.count ? static_cast<uint64_t>(std::llround(bytes / f.count)) : 0;
	if (f.count != weight || f.bytes == 0 || static_cast<double>(f.bytes) * f.count != bytes)
		refuse(path, line);
	return f;
}

/* Each instance repeats its links, which must be the first one's. */
static file read_file(const std::string &path)
{
	std::ifstream in(path);
	std::string text, word;
	file out;
	instance now;
	size_t seen = 0, done = 0;
	unsigned line = 0;

	while (std::getline(in, text)) {
		std::istringstream words(text);
		double number;

		line++;
		words >> word;
		if (word == "flow") {
			now.flows.push_back(read_flow(words, seen, path, line));
		} else if (word == "link" && words >> number) {
			if (out.instances.empty())
				out.links.push_back(number);
			else if (seen >= out.links.size() || out.links[seen] != number)
				refuse(path, line);
			seen++;
		} else if (word == "done" && done < now.flows.size() && words >> number &&
			   number > 0) {
			now.flows[done++].done_s = number;
		} else if (word == "end" && done == now.flows.size() && done &&
			   words >> now.end_s && now.end_s > 0) {
			out.instances.push_back(now);
			now = instance();
			seen = done = 0;
		} else {
			refuse(path, line);
		}
	}
	if (out.instances.empty() || !now.flows.empty())
		refuse(path, line);
	return out;
}

/* SimGrid 4 has other names, and no zone without a parent. */
#if SIMGRID_VERSION_MAJOR >= 4
#define ADD(kind) add_##kind
static sg::NetZone *zone_of(const char *name)
{
	return sg::Engine::get_instance()->get_netzone_root()->add_netzone_full(name);
}

static void add_route(sg::NetZone *zone, sg::Host *from, sg::Host *to, sg::Link *tx, sg::Link *rx)
{
	zone->add_route(from, to, {sg::LinkInRoute(tx), sg::LinkInRoute(rx)}, false);
}
#else
#define ADD(kind) create_##kind
static sg::NetZone *zone_of(const char *name)
{
	return sg::create_full_zone(name);
}

static void add_route(sg::NetZone *zone, sg::Host *from, sg::Host *to, sg::Link *tx, sg::Link *rx)
{
	zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr,
			{sg::LinkInRoute(tx), sg::LinkInRoute(rx)}, false);
}
#endif

/* A host at the outer end of every link; a route from one to the other for each pair that is used.
 */
static std::vector<sg::Host *> build(const file &f)
{
	sg::NetZone *zone = zone_of("fabric");
	std::vector<sg::Host *> hosts;
	std::vector<sg::Link *> links;
	std::vector<std::vector<bool>> routed(f.links.size(),
					      std::vector<bool>(f.links.size(), false));

	for (size_t i = 0; i < f.links.size(); i++) {
		std::string name = std::to_string(i);

		hosts.push_back(zone->ADD(host)("h" + name, 1e9));
		hosts.back()->seal();
		links.push_back(zone->ADD(link)("l" + name, f.links[i] / 8));
		links.back()->set_latency(0);
		links.back()->seal();
	}
	for (const instance &one : f.instances)
		for (const flow &w : one.flows) {
			if (routed[w.tx][w.rx])
				continue;
			routed[w.tx][w.rx] = true;
			add_route(zone, hosts[w.tx], hosts[w.rx], links[w.tx], links[w.rx]);
		}
	zone->seal();
	return hosts;
}

struct difference {
	double end, flow; /* relative, the largest */
	size_t instances;
};

/* NaN counts as infinite. */
static void widen(double *worst, double took, double told)
{
	double difference = std::fabs(took / told - 1);

	*worst = difference <= *worst ? *worst : std::isnan(difference) ? INFINITY : difference;
}

static void play(const instance &one, const std::vector<sg::Host *> &hosts, difference *worst)
{
	std::vector<sg::CommPtr> under_way;
	double begin = sg::Engine::get_clock();
	size_t n = 0;

	for (const flow &w : one.flows)
		for (unsigned i = 0; i < w.count; i++)
			under_way.push_back(
				sg::Comm::sendto_async(hosts[w.tx], hosts[w.rx], w.bytes));
	for (const sg::CommPtr &comm : under_way)
		comm->wait();
	for (const flow &w : one.flows)
		for (unsigned i = 0; i < w.count; i++, n++)
			widen(&worst->flow, under_way[n]->get_finish_time() - begin, w.done_s);
	widen(&worst->end, sg::Engine::get_clock() - begin, one.end_s);
	worst->instances++;
	printf("%6zu flows: %.9g s, SimGrid %.9g s; any flow within %.2g\n", n, one.end_s,
	       sg::Engine::get_clock() - begin, worst->flow);
}

static difference simulate(const char *path)
{
	static char program[] = "fluid_simgrid", quiet[] = "--log=xbt_cfg.thresh:warning";
	char *argv[] = {program, quiet, nullptr};
	int argc = 2;
	file f = read_file(path);
	difference worst = {0, 0, 0};

	sg::Engine engine(&argc, argv);
	sg::Engine::set_config("network/model:CM02");
	sg::Engine::set_config("network/optim:Full");
	sg::Engine::set_config("network/TCP-gamma:0");
	sg::Engine::set_config("network/crosstraffic:no");
	sg::Engine::set_config("surf/precision:1e-12");
	sg::Engine::set_config("maxmin/precision:1e-9");
	std::vector<sg::Host *> hosts = build(f);

	auto traffic = [&f, &hosts, &worst] {
		for (const instance &one : f.instances)
			play(one, hosts, &worst);
	};
#if SIMGRID_VERSION_MAJOR >= 4
	engine.add_actor("traffic", hosts[0], traffic);
#else
	sg::Actor::create("traffic", hosts[0], traffic);
#endif
	engine.run();
	if (worst.instances != f.instances.size())
		worst.instances = 0;
	return worst;
}

/* In a process of its own. No instances: it failed. */
static difference simulate_apart(const char *path)
{
	difference answer = {0, 0, 0};
	int fds[2], status = 0;
	pid_t pid;

	if (pipe(fds))
		return answer;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		answer = simulate(path);
		fflush(stdout);
		_exit(write(fds[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &answer, sizeof(answer)) != sizeof(answer))
		answer.instances = 0;
	close(fds[0]);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
		answer.instances = 0;
	return answer;
}

int main(int argc, char **argv)
{
	double limit = argc > 3 ? atof(argv[1]) : 0;
	difference worst = {0, 0, 0};
	FILE *json;

	if (!(limit > 0)) {
		fputs("usage: fluid_simgrid LIMIT JSON|- FILE...\n", stderr);
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		difference one = simulate_apart(argv[i]);

		if (!one.instances) {
			fprintf(stderr, "fluid_simgrid: %s: failed\n", argv[i]);
			return 1;
		}
		worst.end = std::fmax(worst.end, one.end);
		worst.flow = std::fmax(worst.flow, one.flow);
		worst.instances += one.instances;
	}
	printf("%zu instances; largest relative difference %.3g, of any flow %.3g; limit %g\n",
	       worst.instances, worst.end, worst.flow, limit);
	if (argv[2] != std::string("-")) {
		json = fopen(argv[2], "we");
		if (!json)
			return 1;
		fprintf(json,
			"{\"oracle\": {\"solver\": \"SimGrid\", \"instances\": %zu, "
			"\"worst_end_difference\": %.6g, \"worst_flow_difference\": %.6g}}\n",
			worst.instances, worst.end, worst.flow);
		if (fclose(json))
			return 1;
	}
	return worst.end <= limit && worst.flow <= limit ? 0 : 1;
}
