// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "support/sample_trace.h"
#include "ui/plots/render_recipe.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QImage>

#include <fstream>

namespace ecokv::ui {

using ecokv::test::TemporaryFolder;

namespace {

/// The layers of the sample and a policy that keeps everything; no prompt, no picture.
void writeLayersAndPolicy(trace::TraceWriter& writer, const ecokv::test::SampleOptions& options) {
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        ecokv::test::writeSampleLayer(writer, options, layer);
    }
    trace::PolicyRecord policy;
    policy.id = "0";
    policy.attributes = {{"policy", std::string("ecokv")}, {"budget", std::int64_t{13}}};
    policy.kept.assign(std::size_t{4 * 2 * 30}, 1);
    policy.budgetPerHead.assign(8, 30);
    writer.writePolicy(policy);
}

} // namespace

class RecipeOfSample : public testing::Test {
protected:
    std::vector<std::filesystem::path> render(const std::string& json) {
        std::ofstream(m_folder / "recipe.json") << json;
        return renderRecipe({m_folder / "recipe.json", m_trace, m_folder / "out", {}});
    }
    /// The message of the error a recipe ends in.
    std::string complaint(const std::string& json) {
        try {
            render(json);
        } catch (const Error& error) {
            return error.message() + " " + error.advice();
        }
        return "nothing was refused";
    }
    std::string complaintOfFigure(const std::string& fields) {
        return complaint(R"({"figures": [{)" + fields + "}]}");
    }
    QImage imageOf(const std::string& name) const {
        return QImage(QString::fromStdString((m_folder / "out" / name).string()));
    }

    TemporaryFolder m_folder;
    std::filesystem::path m_trace = ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5");
};

TEST_F(RecipeOfSample, drawsEveryKindInEveryFormat) {
    const auto written = render(R"({"figures": [
        {"kind": "head-map", "metric": "redundancy", "file": "a.png", "width": 400, "height": 300,
         "scale": 1.5, "theme": "dark"},
        {"kind": "head-map", "metric": "kept_budget", "policy": "streaming", "file": "b.svg"},
        {"kind": "survival", "policy": "0", "layer": 1, "head": 1, "mode": "head", "file": "c.pdf"},
        {"kind": "survival", "mode": "count", "layer": -1, "image": 0, "file": "d.png"},
        {"kind": "scatter", "layer": 2, "head": 0, "diversity": "cosine", "file": "e.svg"},
        {"kind": "tokens", "mode": "union", "file": "f.png"},
        {"kind": "scatter", "layer": 2, "head": 0, "file": "g.csv"}]})");
    ASSERT_EQ(written.size(), 7U);
    for (const auto& path : written) {
        EXPECT_GT(std::filesystem::file_size(path), 200U) << path;
    }
    EXPECT_EQ(written[2], m_folder / "out" / "c.pdf");
    EXPECT_EQ(imageOf("a.png").size(), QSize(600, 450));
    EXPECT_LT(imageOf("a.png").pixelColor(1, 1).red(), 60); // dark
    EXPECT_EQ(imageOf("d.png").width(), 2400);
    EXPECT_NEAR(imageOf("d.png").height(), 1880, 80); // a picture of 1160 x 773 and its legend
}

TEST_F(RecipeOfSample, drawsTheCacheWhileAnsweringF030) {
    const char* figures = R"({"figures": [{"kind": "cache-length", "file": "a.csv"},
                                          {"kind": "cache-length", "file": "b.svg"},
                                          {"kind": "cache-length", "file": "c.png"}]})";
    EXPECT_NE(complaint(figures).find("does not hold"), std::string::npos); // none recorded
    const ecokv::test::SampleOptions options;
    m_trace = m_folder / "lengths.ecokv.h5";
    trace::TraceWriter writer(ecokv::test::sampleWriterOptions(m_trace, options));
    writeLayersAndPolicy(writer, options);
    trace::DecodeRecord decode;
    decode.tokenIds = {4, 7};
    decode.tokenText = {"4", "7"};
    decode.logprob = {-0.25F, -0.25F};
    decode.keptLength = {1, 2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 7, 8, 9};
    writer.writePolicyDecode("0", decode);
    writer.close();
    const auto written = render(figures);
    ASSERT_EQ(written.size(), 3U);
    std::ifstream csv(written[0]);
    const std::string text((std::istreambuf_iterator<char>(csv)), {});
    EXPECT_NE(text.find("\n0,4,4.5,8\n1,7,5.5,9\n"), std::string::npos) << text;
    EXPECT_FALSE(imageOf("c.png").isNull());
}

TEST_F(RecipeOfSample, drawsTheErrorMeasuredWhileAnswering) {
    const ecokv::test::SampleOptions options;
    m_trace = m_folder / "measured.ecokv.h5";
    trace::TraceWriter writer(ecokv::test::sampleWriterOptions(m_trace, options));
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        ecokv::test::writeSampleLayer(writer, options, layer);
    }
    trace::PolicyRecord policy;
    policy.attributes = {{"policy", std::string("ecokv")}};
    policy.kept.assign(std::size_t{4 * 2 * 30}, 1);
    policy.budgetPerHead.assign(8, 30);
    for (const char* id : {"0", "1"}) {
        policy.id = id;
        policy.measuredError.assign(8, id[0] == '0' ? 0.25F : 0.5F);
        writer.writePolicy(policy);
    }
    writer.close();
    const auto written = render(R"({"figures": [{"kind": "head-map", "metric": "measured_error",
                                                 "policy": "1", "file": "a.csv"}]})");
    std::ifstream csv(written.at(0));
    const std::string text((std::istreambuf_iterator<char>(csv)), {});
    EXPECT_NE(text.find("layer,kv_head,measured_error\n0,0,0.5\n"), std::string::npos) << text;
    const std::string refused = complaintOfFigure(R"("kind": "head-map", "metric": "beauty",
                                                     "file": "a.csv")");
    EXPECT_NE(refused.find("measured_error"), std::string::npos) << refused;
    EXPECT_EQ(refused.find("measured_error"), refused.rfind("measured_error")) << refused;
}

// A trace of which a part is missing is not the recipe's fault.
TEST_F(RecipeOfSample, aMissingPartOfTheTraceIsNamed) {
    const auto refusal = [this](const std::string& fields) {
        try {
            render(R"({"figures": [{)" + fields + R"(, "file": "a.csv"}]})");
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::BadInput) << error.message();
            return error.message();
        }
        return std::string("nothing was refused");
    };
    const ecokv::test::SampleOptions options;
    m_trace = m_folder / "bare.ecokv.h5";
    trace::TraceWriter writer(ecokv::test::sampleWriterOptions(m_trace, options));
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        ecokv::test::writeSampleLayer(writer, options, layer);
    }
    writer.close();
    for (const char* fields : {R"("kind": "tokens")", R"("kind": "cache-length")",
                               R"("kind": "head-map", "metric": "output_error")"}) {
        EXPECT_NE(refusal(fields).find("bare.ecokv.h5 lacks what the figure shows. /policies"),
                  std::string::npos)
            << refusal(fields);
    }
}

TEST_F(RecipeOfSample, reportsProgress) {
    std::ofstream(m_folder / "recipe.json")
        << R"({"figures": [{"kind": "head-map", "file": "a.csv"},
                           {"kind": "head-map", "file": "b.csv"}]})";
    std::vector<std::int64_t> done;
    renderRecipe(
        {m_folder / "recipe.json", m_trace, m_folder / "out", [&](const Progress& progress) {
             EXPECT_EQ(progress.total, 2);
             done.push_back(progress.done);
         }});
    EXPECT_EQ(done, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(RecipeOfSample, findsItsOwnTraceBesideIt) {
    m_trace.clear();
    EXPECT_EQ(render(R"({"trace": "sample.ecokv.h5",
                         "figures": [{"kind": "head-map", "file": "a.csv"}]})")
                  .size(),
              1U);
    EXPECT_NE(complaint(R"({"figures": [{"kind": "head-map", "file": "a.csv"}]})").find("--trace"),
              std::string::npos);
}

TEST_F(RecipeOfSample, shippedDemoRecipeWorks) {
    const auto demo =
        std::filesystem::path(ECOKV_SOURCE_DIR) / "resources" / "recipes" / "demo.json";
    const auto written = renderRecipe({demo, m_trace, m_folder / "out", {}});
    EXPECT_GE(written.size(), 4U);
    EXPECT_FALSE(imageOf("redundancy.png").isNull());
    EXPECT_FALSE(imageOf("survival.png").isNull());
    EXPECT_FALSE(imageOf("importance-diversity.png").isNull());
}

/// The demo recipe once stopped at the first picture of a trace without any.
TEST_F(RecipeOfSample, figuresOfPicturesAreLeftOutWhereThereIsNone) {
    const ecokv::test::SampleOptions options;
    m_trace = m_folder / "text.ecokv.h5";
    trace::TraceWriter writer(ecokv::test::sampleWriterOptions(m_trace, options));
    writeLayersAndPolicy(writer, options);
    writer.close();
    const auto demo =
        std::filesystem::path(ECOKV_SOURCE_DIR) / "resources" / "recipes" / "demo.json";
    std::vector<std::string> said;
    std::vector<std::int64_t> done;
    const auto written =
        renderRecipe({demo, m_trace, m_folder / "out",
                      [&](const Progress& progress) { done.push_back(progress.done); },
                      [&](const std::string& sentence) { said.push_back(sentence); }});
    EXPECT_EQ(written.size(), 6U); // of 8
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(
        said[0],
        "survival.png is left out: it shows a picture, and the prompt of the trace has none.");
    EXPECT_EQ(done.back(), 8);
    EXPECT_FALSE(std::filesystem::exists(m_folder / "out" / "survival.png"));
    const std::string nothing =
        complaint(R"({"figures": [{"kind": "survival", "file": "a.png"}]})");
    EXPECT_NE(nothing.find("No figure"), std::string::npos) << nothing;
    EXPECT_NE(nothing.find("tokens"), std::string::npos) << nothing;
}

TEST_F(RecipeOfSample, aPolicyIsNamedByIdNameOrTitle) {
    for (const char* policy : {"1", "streaming", "streaming, budget 9, window 6"}) {
        const auto written =
            render(R"({"figures": [{"kind": "head-map", "metric": "kept_budget", "policy": ")" +
                   std::string(policy) + R"(", "file": "a.csv"}]})");
        std::ifstream csv(written.at(0));
        std::string first;
        std::getline(csv, first);
        EXPECT_NE(first.find("streaming, budget 9"), std::string::npos) << first;
    }
}

TEST_F(RecipeOfSample, complaintsNameTheFieldAndWhatItTakes) {
    const struct {
        std::string fields, field, help;
    } cases[] = {
        {R"("file": "a.png")", "\"kind\"", "head-map"},
        {R"("kind": "pie", "file": "a.png")", "\"kind\"", "scatter"},
        {R"("kind": "head-map")", "\"file\"", ".svg"},
        {R"("kind": "head-map", "file": "a.gif")", "\"file\"", ".png"},
        {R"("kind": "head-map", "file": "../a.png")", "\"file\"", "without folders"},
        {R"("kind": "head-map", "file": "a.png", "metric": "beauty")", "\"metric\"", "anisotropy"},
        {R"("kind": "head-map", "file": "a.png", "metric": 3)", "\"metric\"", "quotes"},
        {R"("kind": "scatter", "file": "a.png", "layer": 4)", "\"layer\"", "0 to 3"},
        {R"("kind": "scatter", "file": "a.png", "layer": 1.5)", "\"layer\"", "whole number"},
        {R"("kind": "scatter", "file": "a.png", "head": 2)", "\"head\"", "0 to 1"},
        {R"("kind": "survival", "file": "a.png", "mode": "all")", "\"mode\"", "intersection"},
        {R"("kind": "survival", "file": "a.png", "layer": -1)", "\"layer\"", "0 to 3"},
        {R"("kind": "survival", "file": "a.png", "image": 1)", "\"image\"", "0 to 0"},
        {R"("kind": "survival", "file": "a.png", "patches": "all")", "\"patches\"", "thumbnail"},
        {R"("kind": "survival", "file": "a.png", "policy": "snapkv")", "\"policy\"", "streaming"},
        {R"("kind": "head-map", "file": "a.png", "width": 5)", "\"width\"", "100 to 20000"},
        {R"("kind": "head-map", "file": "a.png", "scale": 0)", "\"scale\"", "0.25 to 8.0"},
        {R"("kind": "head-map", "file": "a.png", "theme": "pink")", "\"theme\"", "dark"},
        {R"("kind": "head-map", "file": "a.png", "colour": "x")", "\"colour\"", "Known fields"},
    };
    for (const auto& wrong : cases) {
        const std::string text = complaintOfFigure(wrong.fields);
        EXPECT_NE(text.find("figures[0]"), std::string::npos) << text;
        EXPECT_NE(text.find(wrong.field), std::string::npos) << text;
        EXPECT_NE(text.find(wrong.help), std::string::npos) << text;
    }
}

TEST_F(RecipeOfSample, complaintsNameTheFile) {
    EXPECT_NE(complaint("{ nonsense").find("recipe.json is not JSON"), std::string::npos);
    EXPECT_NE(complaint("[]").find("\"figures\""), std::string::npos);
    EXPECT_NE(complaint(R"({"figures": []})").find("\"figures\""), std::string::npos);
    EXPECT_NE(complaint(R"({"figures": [3]})").find("figures[0]"), std::string::npos);
    EXPECT_NE(complaint(R"({"trace": 3, "figures": [{}]})").find("\"trace\""), std::string::npos);
    EXPECT_THROW(renderRecipe({m_folder / "none.json", m_trace, m_folder / "out", {}}), Error);
}

} // namespace ecokv::ui
