// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/doctor_view.h"
#include "ui/pages/run_panel.h"

#include "ui/models/cache_length_model.h"
#include "ui/models/paths.h"
#include "ui/pages/answers_page.h"
#include "ui/pages/ledger_view.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/picture_strip.h"
#include "ui/pages/policy_form.h"
#include "ui/plots/cache_length_plot.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLocale>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>
#include <QUrl>

namespace ecokv::ui {

namespace {

DemoCatalogue twoQuestions() {
    DemoCatalogue catalogue;
    catalogue.model = u"/demo/model"_qs;
    catalogue.documents = {{u"/demo/a.png"_qs, u"A page"_qs, {{u"QRH?"_qs, u"031"_qs}}}};
    return catalogue;
}

} // namespace

TEST(RunPanel, settingsRoundTrip) {
    session::RunConfig config;
    config.model = "/m";
    config.images = {"/p/a.png", "/p/b.png"};
    config.pictureReading = {.applyOrientation = false, .blendAlpha = RgbColour{1, 171, 255}};
    config.prompt = "read";
    config.policy.scorer = "snapkv";
    config.policy.budget = 24;
    config.policy.window = 16;
    config.policy.recent = 4;
    config.policy.sink = 2;
    config.policy.alpha = 0.7;
    config.policy.beta = 0.3;
    config.policy.pool = 7;
    config.policy.seed = 99;
    config.policy.allocator = "adaptive";
    config.maxNewTokens = 12;
    config.temperature = 0.8;
    config.compareFull = true;
    config.device = session::DeviceChoice::Cpu;
    config.dtype = session::DTypeChoice::F32;
    RunPanel panel;
    panel.setConfig(config);
    const session::RunConfig back = panel.config();
    EXPECT_EQ(back.model, config.model);
    EXPECT_EQ(back.images, config.images);
    EXPECT_EQ(back.pictureReading, config.pictureReading);
    EXPECT_EQ(back.prompt, config.prompt);
    EXPECT_EQ(back.policy.scorer, "snapkv");
    EXPECT_EQ(back.policy.budget, 24);
    EXPECT_EQ(back.policy.allocator, "adaptive");
    EXPECT_EQ(back.policy.window, 16);
    EXPECT_EQ(back.policy.recent, 4);
    EXPECT_EQ(back.policy.sink, 2);
    EXPECT_DOUBLE_EQ(back.policy.alpha, 0.7);
    EXPECT_DOUBLE_EQ(back.policy.beta, 0.3);
    EXPECT_EQ(back.policy.pool, 7);
    EXPECT_EQ(back.policy.seed, 99U);
    EXPECT_EQ(back.maxNewTokens, 12);
    EXPECT_DOUBLE_EQ(back.temperature, 0.8);
    EXPECT_TRUE(back.compareFull);
    EXPECT_EQ(back.device, session::DeviceChoice::Cpu);
    EXPECT_EQ(back.dtype, session::DTypeChoice::F32);
}

// What the form has no field for stays with the settings until another policy is chosen.
TEST(RunPanel, settingsWithoutAFieldStay) {
    session::RunConfig config;
    config.policy.budget = 24;
    config.policy.geometry = policy::Geometry::Pre;
    config.policy.poolMode = kernels::PoolMode::Max;
    config.policy.allocator = "static";
    config.policy.headWeights = "/w.json";
    RunPanel panel;
    panel.setConfig(config);
    EXPECT_EQ(panel.config().policy, config.policy);
    config.policy = {};
    config.policy.scorer = "knorm";
    config.policy.budget = 24;
    panel.setConfig(config);
    EXPECT_EQ(panel.config().policy, config.policy);
}

TEST(RunPanel, untouchedFieldsLeaveTheScorersDefaults) {
    const RunPanel panel;
    EXPECT_FALSE(panel.config().policy.window.has_value());
    EXPECT_FALSE(panel.config().policy.recent.has_value());
    EXPECT_EQ(panel.config().policy.scorer, "ecokv");
    EXPECT_EQ(panel.config().policy.budget, 48);
}

TEST(RunPanel, theFullCacheHasNoBudget) {
    RunPanel panel;
    session::RunConfig config = panel.config();
    config.policy.scorer = "full";
    panel.setConfig(config);
    EXPECT_EQ(panel.config().policy.budget, 0);
}

TEST(RunPanel, saysWhatIsMissing) {
    RunPanel panel;
    EXPECT_TRUE(panel.obstacle().contains(u"model"_qs));
    EXPECT_FALSE(panel.runButton()->isEnabled());
    panel.openModel(u"/m"_qs);
    EXPECT_TRUE(panel.obstacle().contains(u"prompt"_qs));
    session::RunConfig config = panel.config();
    config.prompt = "hello";
    panel.setConfig(config);
    EXPECT_EQ(panel.obstacle(), QString());
    EXPECT_TRUE(panel.runButton()->isEnabled());
    panel.setRunning(true);
    EXPECT_FALSE(panel.runButton()->isEnabled());
    EXPECT_TRUE(panel.stopButton()->isEnabled());
}

TEST(RunPanel, demoQuestionsKnowTheirAnswerUntilEdited) {
    RunPanel panel;
    panel.setCatalogue(twoQuestions());
    const QSignalSpy chosen(&panel, &RunPanel::modelChosen);
    panel.showDemo(0, 0);
    EXPECT_EQ(chosen.count(), 1);
    EXPECT_EQ(panel.expectedAnswer(), u"031"_qs);
    session::RunConfig config = panel.config();
    config.prompt = "something else";
    panel.setConfig(config);
    EXPECT_EQ(panel.expectedAnswer(), QString());
}

/// 8 tokens and a budget of 640, as in the field case: the box ends at what there is and says so.
TEST(RunPanel, theBudgetFollowsTheTokensOfThePromptF036) {
    RunPanel panel;
    session::RunConfig config = panel.config();
    config.model = "/m";
    config.prompt = "hello";
    config.policy.budget = 640;
    panel.setConfig(config);
    const auto* note = panel.findChild<QLabel*>(u"budgetNote"_qs);
    const auto* budget = panel.findChild<QSpinBox*>(u"budget"_qs);
    EXPECT_FALSE(note->isVisibleTo(&panel));
    QSignalSpy changed(&panel, &RunPanel::changed);
    session::DoctorReport report;
    report.promptTokens = 8;
    panel.showReport(report);
    EXPECT_EQ(budget->maximum(), 8);
    EXPECT_EQ(panel.config().policy.budget, 8);
    EXPECT_EQ(changed.count(), 1); // the settings are others now
    EXPECT_TRUE(note->isVisibleTo(&panel));
    EXPECT_TRUE(note->text().contains(u"640"_qs)) << note->text().toStdString();
    EXPECT_TRUE(note->text().contains(u"8 tokens"_qs));
    panel.showReport(report);
    EXPECT_EQ(changed.count(), 1); // and stay as they are
    report.promptTokens = 300;
    panel.showReport(report);
    EXPECT_EQ(panel.config().policy.budget, 300); // what was asked for is not forgotten
    report.promptTokens = 2000;
    panel.showReport(report);
    EXPECT_EQ(panel.config().policy.budget, 640);
    EXPECT_FALSE(note->isVisibleTo(&panel));
}

TEST(RunPanel, aBudgetTypedIntoTheBoxIsWhatIsWantedFromThenOn) {
    RunPanel panel;
    session::DoctorReport report;
    report.promptTokens = 20;
    panel.showReport(report); // 48 becomes 20
    auto* budget = panel.findChild<QSpinBox*>(u"budget"_qs);
    budget->setValue(12);
    report.promptTokens = 100;
    panel.showReport(report);
    EXPECT_EQ(panel.config().policy.budget, 12);
    panel.openModel(u"/other"_qs); // nothing is known of its prompt
    EXPECT_GT(budget->maximum(), 100'000);
    EXPECT_EQ(panel.config().policy.budget, 12);
}

TEST(PolicyForm, sharesAreTypedWithAPointF156) {
    QLocale::setDefault(QLocale(QLocale::German));
    PolicyForm form;
    auto* alpha = form.findChild<QDoubleSpinBox*>();
    ASSERT_NE(alpha, nullptr);
    alpha->selectAll();
    QTest::keyClicks(alpha, u"0,2"_qs); // refused, never 2
    EXPECT_LE(alpha->value(), 1.0);
    EXPECT_NE(alpha->value(), 2.0);
    alpha->selectAll();
    QTest::keyClicks(alpha, u"0.2"_qs);
    QTest::keyClick(alpha, Qt::Key_Return);
    EXPECT_DOUBLE_EQ(form.config().alpha, 0.2);
    QLocale::setDefault(QLocale::c());
}

TEST(PictureStrip, takesDroppedPicturesOnly) {
    PictureStrip strip;
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(u"/p/a.png"_qs), QUrl::fromLocalFile(u"/p/notes.txt"_qs),
                  QUrl::fromLocalFile(u"/p/b.JPG"_qs)});
    EXPECT_TRUE(strip.take(data));
    EXPECT_EQ(strip.paths(), (QStringList{u"/p/a.png"_qs, u"/p/b.JPG"_qs}));
    QMimeData nothing;
    nothing.setText(u"hello"_qs);
    EXPECT_FALSE(strip.take(nothing));
}

TEST(PictureStrip, keepsAPastedPictureAsAFile) {
    PictureStrip strip;
    QMimeData data;
    QImage image(6, 4, QImage::Format_RGB32);
    image.fill(Qt::red);
    data.setImageData(image);
    ASSERT_TRUE(strip.take(data));
    ASSERT_TRUE(QTest::qWaitFor([&] { return strip.paths().size() == 1; }, 5000));
    EXPECT_EQ(QImage(strip.paths().front()).size(), QSize(6, 4));
    std::filesystem::remove(toPath(strip.paths().front()));
}

TEST(ModelPicker, summaryIsOneSentenceWithUnits) {
    session::ModelSummary summary;
    summary.family = "llava";
    summary.layers = 6;
    summary.kvHeads = 4;
    summary.headDim = 32;
    summary.parameters = 1'900'000;
    summary.weightBytes = 3'700'000;
    summary.dtype = "bfloat16";
    EXPECT_EQ(modelSentence(summary),
              u"llava · 6 layers × 4 KV heads of 32 · 1.9 M parameters, bfloat16, 3.7 MB"_qs);
}

TEST(DoctorView, saysHowItStandsAndWhatToDo) {
    session::DoctorReport report;
    report.device = "cpu";
    report.findings = {{"Files", "config.json", "1.5 KB", Severity::Good, ""},
                       {"Text", "Chat template", "none", Severity::Note, "Write it all."}};
    DoctorView view;
    EXPECT_TRUE(view.isHidden());
    view.showReport(report);
    EXPECT_FALSE(view.isHidden());
    EXPECT_EQ(doctorHeadline(report), u"Ready to run on cpu"_qs);
    EXPECT_EQ(doctorProblems(report), u"! Chat template: none\n   → Write it all."_qs);
    EXPECT_EQ(
        doctorDetails(report),
        u"FILES\n✓ config.json: 1.5 KB\n\nTEXT\n! Chat template: none\n   → Write it all."_qs);
    report.promptTokens = 259;
    report.imageTokens = 256;
    report.memory = session::MemoryForecast{.weights = 3'700'000, .keptCache = 200'000};
    EXPECT_EQ(doctorHeadline(report),
              u"Ready: 259 tokens (256 image), 200.0 KB + 3.7 MB of weights"_qs);
    report.findings.push_back({"Weights", "Safetensors", "missing", Severity::Problem, "Get it."});
    EXPECT_TRUE(doctorHeadline(report).contains(u"1 problem"_qs));
    EXPECT_TRUE(doctorProblems(report).startsWith(u"✗ Safetensors: missing\n   → Get it."_qs));
}

TEST(AnswersPage, marksTheFirstDifferenceWhileStreaming) {
    AnswersPage page;
    session::RunConfig config;
    config.compareFull = true;
    page.beginRun(config, u"473"_qs);
    page.appendText(session::Stream::Full, u"473"_qs);
    page.appendText(session::Stream::Policy, u"4"_qs);
    const auto says = [&](const QString& text) {
        const auto labels = page.findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* l) { return l->text().contains(text); });
    };
    EXPECT_FALSE(says(u"part at"_qs)); // the policy is still writing
    page.appendText(session::Stream::Policy, u"1"_qs);
    EXPECT_TRUE(says(u"part at character 2"_qs));
}

TEST(LedgerView, showsTheCacheWhileAnsweringF030) {
    auto document = std::make_shared<analysis::TraceDocument>();
    document->dimensions.layers = 2;
    document->dimensions.kvHeads = 1;
    document->run.emplace();
    document->run->attributes["decode_eviction"] = std::string("prefill-only");
    analysis::PolicyView policy;
    policy.id = "0";
    policy.title = "ecokv, budget 6";
    policy.decode.emplace();
    policy.decode->tokenText = {"4", "7"};
    policy.decode->keptLength = {4, 8, 5, 9};
    document->policies.push_back(policy);

    LedgerView ledger;
    const auto* plot = ledger.findChild<CacheLengthPlot*>();
    ledger.showSummary(summariseTrace(*document, &document->policies[0]));
    ledger.showDecoding(document, &document->policies[0]);
    const auto labels = ledger.findChildren<QLabel*>();
    const auto line = std::find_if(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->text().startsWith(u"While answering"_qs);
    });
    ASSERT_NE(line, labels.end());
    EXPECT_EQ((*line)->text(), u"While answering: prefill-only eviction, 6 → 7 tokens per head"_qs);
    ASSERT_NE(plot->figure(), nullptr);
    const auto* model = ledger.findChild<CacheLengthModel*>();
    ASSERT_EQ(model->rowCount(), 2); // the table twin
    EXPECT_EQ(model->index(1, CacheLengthModel::Longest).data().toInt(), 9);

    ledger.clear(); // a new run begins
    EXPECT_EQ(plot->figure(), nullptr);
    EXPECT_EQ(model->rowCount(), 0);
    EXPECT_TRUE((*line)->isHidden());
}

} // namespace ecokv::ui
