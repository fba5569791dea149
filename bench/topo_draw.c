/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo_draw.h"

#include "report/report.h"

#define DRAW_WIDTH    860.0
#define DRAW_BOX      34.0
#define DRAW_LEAF_Y   20.0
#define DRAW_GPU_Y    220.0
#define DRAW_HEIGHT   280.0
#define DRAW_MAX_GPUS 16
#define DRAW_LINES    8.0 /* between two sub-ports of a plane */

/* Middle of box i of n. */
static double draw_x(unsigned i, unsigned n)
{
	return DRAW_WIDTH * (i + 0.5) / n;
}

static double draw_box_width(unsigned n)
{
	double width = DRAW_WIDTH / n * 0.8;

	return width > 150 ? 150 : width;
}

static void draw_box(FILE *file, double x, double y, double width, const char *name,
		     const char *below)
{
	fprintf(file,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" fill=\"none\" "
		"stroke=\"currentColor\"/>\n"
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"currentColor\" "
		"stroke=\"none\">",
		x - width / 2, y, width, DRAW_BOX, x, y + DRAW_BOX / 2 + 5);
	report_escape(file, name);
	fputs("</text>\n", file);
	if (!below)
		return;
	fprintf(file,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"currentColor\" "
		"stroke=\"none\" "
		"font-size=\"12\">",
		x, y + DRAW_BOX + 17);
	report_escape(file, below);
	fputs("</text>\n", file);
}

static void draw_plane(const struct topo *topo, unsigned gpu, unsigned plane, bool stands_out,
		       FILE *file)
{
	const struct topo_plane *p = &topo->gpus[gpu].plane[plane];
	double leaf_x = draw_x(p->leaf, topo->n_leaves), gpu_x = draw_x(gpu, topo->n_gpus);
	double gap = DRAW_LINES;

	/* the planes of a GPU leave its box side by side, as those of a leaf do */
	gpu_x += (plane - (topo->n_planes - 1) / 2.0) * draw_box_width(topo->n_gpus) /
		 (topo->n_planes + 0.5);
	leaf_x += (gpu - (topo->n_gpus - 1) / 2.0) * draw_box_width(topo->n_leaves) /
		  (topo->n_gpus + 0.5);
	if (gap * p->n_sub_ports > draw_box_width(topo->n_gpus) / (topo->n_planes + 1))
		gap = draw_box_width(topo->n_gpus) / (topo->n_planes + 1) / p->n_sub_ports;
	for (unsigned s = 0; s < p->n_sub_ports; s++) {
		double shift = (s - (p->n_sub_ports - 1) / 2.0) * gap;
		bool up = p->sub_port[s].up && topo->leaves[p->leaf].up;

		fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s%s/>\n",
			gpu_x + shift, DRAW_GPU_Y, leaf_x + shift / 2, DRAW_LEAF_Y + DRAW_BOX,
			stands_out ? " stroke=\"#d9541e\" stroke-width=\"2.2\""
				   : " stroke-opacity=\"0.55\"",
			up ? "" : " stroke-dasharray=\"3 4\"");
	}
}

bool topo_draw_fits(const struct topo *topo)
{
	return topo->n_gpus <= DRAW_MAX_GPUS && topo->n_leaves <= FARE_MAX_PLANES;
}

void topo_draw(const struct topo *topo, int gpu, int plane, FILE *file)
{
	fprintf(file,
		"<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%u GPUs, %u leaf "
		"switches\" "
		"font-family=\"sans-serif\" font-size=\"14\" stroke=\"currentColor\">\n",
		DRAW_WIDTH, DRAW_HEIGHT, topo->n_gpus, topo->n_leaves);
	for (unsigned g = 0; g < topo->n_gpus; g++)
		for (unsigned p = 0; p < topo->n_planes; p++)
			draw_plane(topo, g, p, (int)g == gpu && (int)p == plane, file);
	for (unsigned l = 0; l < topo->n_leaves; l++)
		draw_box(file, draw_x(l, topo->n_leaves), DRAW_LEAF_Y,
			 draw_box_width(topo->n_leaves), topo->leaves[l].name, NULL);
	for (unsigned g = 0; g < topo->n_gpus; g++) {
		char label[2 * TOPO_NAME_MAX];

		topo_gpu_label(topo, g, label, sizeof(label));
		draw_box(file, draw_x(g, topo->n_gpus), DRAW_GPU_Y, draw_box_width(topo->n_gpus),
			 label, topo_gpu_address(topo, g));
	}
	fputs("</svg>\n", file);
}
